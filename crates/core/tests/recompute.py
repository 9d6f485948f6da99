# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes an experiment again, from its table of blocks alone: ccctl experiment report NAME --json | python3 recompute.py"""
import hashlib, hmac, itertools, json, math, struct, sys

info = json.load(sys.stdin)["experiments"][0]
plan, said = info["plan"], info["analysis"]
STRETCH = 1 - 2 * (plan["hold_out_pct"] or 0) / 100  # a hold-out makes the difference of blocks smaller
BETS = [0.08, 0.12, 0.18, 0.27, 0.4, 0.6, 0.9, 1.35, 2.0]

def value(sums):
    if plan["metric"] == "goodput":
        return math.log(sums["acked_bytes"] / sums["network_limited_s"])
    if plan["metric"] == "retransmits":
        lost = sums["retransmitted_bytes"]
        return math.log((lost + 1448) / (sums["acked_bytes"] + lost))
    if plan["metric"] == "timeouts":
        return math.log((sums["timeouts"] + 1) / (sums["data_segments"] / 1e6))
    sys.exit("times in queues are not computed here")

def first_is_treated(pair):
    words = [plan["name"].encode(), plan["cluster"].encode()]
    message = b"".join(struct.pack(">Q", len(word)) + word for word in words) + struct.pack(">Q", 2 * pair)
    return hmac.new(str(plan["coin_seed"]).encode(), message, hashlib.sha256).digest()[0] & 1 == 1

def log_e(differences, effect):
    bets = [sign * bet / plan["sigma"] for bet in BETS for sign in (1, -1)]
    products = [math.prod(math.exp(b * (d - effect)) / math.cosh(b * (d - effect)) for d in differences) for b in bets]
    return math.log(sum(products) / len(products))

def p_value(differences, effect):
    rest = [d - effect for d in differences]
    sums = [abs(sum(s * x for s, x in zip(signs, rest))) for signs in itertools.product((1, -1), repeat=len(rest))]
    return sum(total >= abs(sum(rest)) - 1e-12 for total in sums) / len(sums)

def same(what, own, other):
    assert math.isclose(own, other, rel_tol=1e-9, abs_tol=1e-9), f"{what}: {own} is not {other}"

blocks = {block["block"]: block for block in info["blocks"] if block["problem"] is None}
differences = []
for pair in sorted({number // 2 for number in blocks if number % 2 == 0 and number + 1 in blocks}):
    first, second = blocks[2 * pair], blocks[2 * pair + 1]
    assert first["is_treated"] == first_is_treated(pair) != second["is_treated"], f"the coin of pair {pair}"
    difference = (value(first["sums"]) - value(second["sums"])) * (1 if first["is_treated"] else -1) / STRETCH
    same(f"pair {pair}", difference, said["pairs"][len(differences)]["difference"])
    differences.append(difference)
same("pairs", len(differences), len(said["pairs"]))
same("estimate", math.expm1(sum(differences) / len(differences)) * 100, said["estimate_pct"])
same("p at any time", math.exp(-max([0.0] + [log_e(differences[:n + 1], 0) for n in range(len(differences))])), said["p_anytime"])
for limit in [said["sequence"]["lower_pct"], said["sequence"]["upper_pct"]]:
    assert limit is None or abs(log_e(differences, math.log1p(limit / 100)) - math.log(20)) < 1e-6, f"sequence: {limit}"
if 6 <= len(differences) <= 14:
    same("p at the end", p_value(differences, 0), said["p_final"])
    for limit, inwards in [(said["final_interval"]["lower_pct"], 1e-9), (said["final_interval"]["upper_pct"], -1e-9)]:
        at = math.log1p(limit / 100)
        assert p_value(differences, at - 2 * inwards) <= 0.05 < p_value(differences, at + 2 * inwards), f"interval: {limit}"
print(f"{len(differences)} pairs: {said['estimate_pct']:+.2f} %, as the report says")
