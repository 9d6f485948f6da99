#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes vectors.json next to this file: inputs, and what independent Python packages compute from them.

    apt-get install libboost-dev            # confseq is compiled
    python3 -m venv /tmp/vectors
    /tmp/vectors/bin/pip install numpy==2.4.6 scipy==1.17.1 statsmodels==0.15.0 mpmath==1.4.1 \
        matplotlib plotly pydantic pybind11==2.13.6 scikit-build==0.19.1 cmake ninja
    /tmp/vectors/bin/pip install --no-deps --no-build-isolation confseq==0.0.11
    /tmp/vectors/bin/pip install --no-deps --ignore-requires-python --only-binary :all: expectation==0.6.1
    /tmp/vectors/bin/python crates/inference/tests/make-vectors.py

Each case names its oracle. "direct" is a computation with numpy or mpmath by the definition, by another way than the
crate's, where no package has exactly that quantity.
"""
import hashlib
import hmac
import json
import math
import pathlib
import sys
from importlib.metadata import version

import confseq.boundaries
import mpmath
import numpy as np
import statsmodels.api as sm
from expectation.modules.hypothesistesting import SymmetryETest
from scipy import optimize, stats
from statsmodels.stats.power import normal_power, normal_sample_size_one_tail
from statsmodels.stats.weightstats import DescrStatsW

sys.path.insert(0, str(pathlib.Path(__file__).with_name("vectors")))
sys.dont_write_bytecode = True
import secondary
from common import ALPHA, SplitMix, case, cases, random

PACKAGES = {"numpy": "2.4.6", "scipy": "1.17.1", "statsmodels": "0.15.0", "mpmath": "1.4.1", "confseq": "0.0.11",
            "expectation": "0.6.1"}
BETS = [0.08, 0.12, 0.18, 0.27, 0.4, 0.6, 0.9, 1.35, 2.0]


def series():
    """Differences of several kinds and lengths; the ties are exact, and some sums of signs are exactly 0."""
    made = {f"normal {n}": random.normal(0.3, 0.5, n) for n in (6, 8, 13, 20, 30)}
    made["pareto 12"] = 0.1 + random.choice([-1, 1], 12) * random.pareto(1.5, 12)
    made["t2 16"] = random.standard_t(2, 16) * 0.2
    made["ties 10"] = np.array([0.25, 0.25, -0.25, 0.5, 0.5, 0.0, -0.5, 0.75, 0.25, 0.5])
    made["symmetric 8"] = np.array([1, -1, 2, -2, 3, -3, 0.5, -0.5])
    made["large 40"] = random.normal(-0.1, 0.3, 40)
    return {name: [round(float(v), 6) for v in values] for name, values in made.items()}


def schedule_cases():
    for seed, name, cluster in [(b"26", "web", "edge-1"), (b"a longer seed " * 8, "", "x"), (b"", "öffentlich", "")]:
        coins = []
        for pair in list(range(40)) + [2_964_000, 2**40]:
            words = [text.encode() for text in (name, cluster)]
            message = b"".join(len(w).to_bytes(8, "big") + w for w in words) + (2 * pair).to_bytes(8, "big")
            coins.append([pair, hmac.new(seed, message, hashlib.sha256).digest()[0] & 1])
        case("schedule", "python hmac", {"seed": seed.decode(), "name": name, "cluster": cluster}, {"coins": coins})


def distribution_cases():
    shares = [1e-6, 0.005, 0.025, 0.2, 0.5, 0.9, 0.975, 0.9995]
    for share in shares:
        freedoms = [1, 2, 5, 7.5, 19, 71, 400.25]
        case("quantiles", "scipy.stats", {"share": share, "freedoms": freedoms},
             {"normal": stats.norm.ppf(share), "t": [float(stats.t.ppf(share, f)) for f in freedoms]})
    for value in [0.01, 0.7, 1.96, 3.5, 8.0]:
        case("tails", "scipy.stats", {"value": value, "freedoms": [1, 2.5, 6, 30]},
             {"normal": 2 * stats.norm.sf(value), "t": [float(2 * stats.t.sf(value, f)) for f in (1, 2.5, 6, 30)],
              "chi_square": [float(stats.chi2.sf(value, f)) for f in (1, 2.5, 6, 30)]})


def estimate_cases(name, d):
    walsh = [(d[i] + d[j]) / 2 for i in range(len(d)) for j in range(i, len(d))]
    case("estimates", "numpy, mpmath", {"name": name, "d": d},
         {"mean": float(np.mean(d)), "deviation": float(np.std(d, ddof=1)), "hodges_lehmann": float(np.median(walsh)),
          "percent": float(100 * mpmath.expm1(mpmath.mpf(float(np.mean(d)))))})


def brute_force(d, signs):
    """p of every effect out of these sign vectors, by the definition; and the interval, by bisection."""
    d = np.array(d)
    sums, nets = signs @ d, signs.sum(axis=1)

    def beyond(effect):
        slack = 1e-12 * (np.abs(d).max() + abs(effect))
        return int((np.abs(sums - nets * effect) >= abs(d.sum() - len(d) * effect) - slack).sum())

    def limit(p, outside):
        inside = d.mean()
        for _ in range(200):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if p(middle) > ALPHA else (inside, middle)
        return float(inside)

    return beyond, lambda p: {"lower": limit(p, d.min() - 1), "upper": limit(p, d.max() + 1)}


def flip_cases(name, d):
    n, seed = len(d), 7
    effects = [0.0, 0.1, -0.35, round(float(np.mean(d)) + 0.2, 6)]
    given = {"name": name, "d": d, "seed": seed, "effects": effects, "alpha": ALPHA}
    if n <= 20:
        def permuted(effect):
            x = (np.array(d) - effect,)
            return float(stats.permutation_test(x, lambda x, axis: x.sum(axis=axis), vectorized=True, batch=50_000,
                                                permutation_type="samples", n_resamples=np.inf).pvalue)
        masks = np.arange(1 << n)[:, None] >> np.arange(n) & 1
        beyond, interval = brute_force(d, 1.0 - 2.0 * masks)
        case("flips", "p: scipy.stats.permutation_test; interval: direct, by bisection of all 2^n sums", given,
             {"p": [permuted(e) for e in effects], **interval(lambda effect: beyond(effect) / (1 << n))})
    else:
        draws = SplitMix(seed)
        beyond, interval = brute_force(d, 1.0 - 2.0 * np.array([draws.coins(n) for _ in range(100_000)]))
        p = lambda effect: (1 + beyond(effect)) / 100_001
        case("flips", "direct: the definition over the same drawn signs", given,
             {"p": [p(e) for e in effects], **interval(p)})


def log_side(d, effect, sigma, sign):
    x = np.array(d) - effect
    return math.log(np.mean([SymmetryETest(lambda_value=sign * bet / sigma).compute(x) for bet in BETS]))


def log_e(d, effect, sigma):
    return math.log((math.exp(log_side(d, effect, sigma, 1)) + math.exp(log_side(d, effect, sigma, -1))) / 2)


def sequence_cases(name, d):
    sigma = round(float(np.std(d, ddof=1)) * 0.9, 6)
    effects = [0.0, 0.2, -0.5]
    center = float(np.median(d))
    limits = {}
    for word, far in (("lower", min(d) - 50 * sigma), ("upper", max(d) + 50 * sigma)):
        root = lambda effect: log_e(d, effect, sigma) + math.log(ALPHA)
        limits[word] = optimize.brentq(root, far, center, xtol=1e-14, rtol=1e-14)
    p = min(1, *(math.exp(-log_e(d[:t], 0.0, sigma)) for t in range(1, len(d) + 1)))
    case("sequence", "expectation SymmetryETest (Fisher); limits: scipy.optimize.brentq on it",
         {"name": name, "d": d, "sigma": sigma, "effects": effects, "alpha": ALPHA},
         {"log_e": [log_e(d, e, sigma) for e in effects], "p": p, **limits})
    margin = 0.1
    over = [min(1, *(math.exp(-log_side(d[:t], margin, sigma, sign)) for t in range(1, len(d) + 1)))
            for sign in (1, -1)]
    case("guard_rail", "expectation SymmetryETest (Fisher)", {"name": name, "d": d, "sigma": sigma, "margin": margin},
         {"p_harmful": over[0], "p_harmless": over[1]})


def cross_check_cases(name, d):
    n, about = len(d), DescrStatsW(d)
    t_low, t_high = about.tconfint_mean(ALPHA)
    z_low, z_high = about.zconfint_mean(alpha=ALPHA)
    given = {"name": name, "d": d, "alpha": ALPHA}
    case("t_test", "statsmodels DescrStatsW", given, {"p": about.ttest_mean(0)[1], "lower": t_low, "upper": t_high})
    case("z_test", "statsmodels DescrStatsW", given, {"p": about.ztest_mean(0)[1], "lower": z_low, "upper": z_high})

    # confseq takes the best v in place of its rho.
    v_of = lambda rho: rho * (2 * math.log(1 / ALPHA) + math.log(1 + 2 * math.log(1 / ALPHA)))
    tune = math.sqrt((-2 * math.log(ALPHA) + math.log(-2 * math.log(ALPHA)) + 1) / 20)
    width = float(confseq.boundaries.normal_mixture_bound(n, ALPHA, v_of(1 / tune**2), ALPHA, False)) / n
    deviation = float(np.std(d, ddof=1))
    case("asymptotic", "confseq normal_mixture_bound; rho: direct", {**given, "pairs": 20},
         {"rho": tune, "lower": float(np.mean(d)) - width * deviation, "upper": float(np.mean(d)) + width * deviation})
    squares, rho = float(np.sum(np.square(d))), 2.5
    case("symmetric_bound", "confseq normal_mixture_bound", {**given, "rho": rho},
         {"bound": float(confseq.boundaries.normal_mixture_bound(squares, ALPHA, v_of(rho), ALPHA, False))})
    sigma, nu = 0.6, 0.35
    logs = [float(confseq.boundaries.normal_log_mixture(sum(d[:t]) / sigma, t, v_of((sigma / nu) ** 2), ALPHA, False))
            for t in range(1, n + 1)]
    case("mixture", "confseq normal_log_mixture", {**given, "sigma": sigma, "nu": nu},
         {"log_ratio": logs[-1], "p": min(1, math.exp(-max(logs)))})


def fewest_pairs(ratio, power):
    """The first n at which the sign-flip test has this power, over 200,000 simulated experiments for each n."""
    for n in range(6, 11):
        d = random.normal(ratio, 1, (200_000, n))
        signs = 1.0 - 2.0 * (np.arange(1 << (n - 1))[:, None] >> np.arange(n) & 1)
        total = np.abs(d.sum(axis=1)) * (1 - 1e-12)
        found = np.concatenate([(np.abs(part @ signs.T) >= own[:, None]).mean(axis=1) <= ALPHA
                                for part, own in zip(np.array_split(d, 50), np.array_split(total, 50))])
        if found.mean() >= power:
            return n
    raise ValueError(f"{ratio}: more than 10 pairs")


def planning_cases():
    for ratio, power in [(1.2, 0.8), (1.5, 0.8), (1.5, 0.9), (2.0, 0.9), (2.5, 0.8)]:
        case("plan_few", "direct: numpy simulation of the test", {"ratio": ratio, "power": power},
             {"pairs": fewest_pairs(ratio, power)})
    for ratio in (0.25, 0.33, 0.5, 0.75, 1.0):
        for power in (0.8, 0.9):
            raw = float(normal_sample_size_one_tail(ratio, power, ALPHA / 2, std_null=1.0, std_alternative=1.0))
            back = float(stats.norm.ppf(1 - ALPHA / 2) + stats.norm.ppf(power)) / math.sqrt(70)
            case("plan", "statsmodels normal_sample_size_one_tail + 2, normal_power", {"ratio": ratio, "power": power},
                 {"pairs": math.ceil(raw + 2), "anytime": math.ceil(2.6 * (raw + 2)), "effect_of_72": back,
                  "power_of_20": float(normal_power(ratio, 18, ALPHA / 2, alternative="larger"))})
    y = [round(float(v), 6) for v in np.cumsum(random.normal(0, 0.3, 24))]
    u = np.array(y[0::2]) - np.array(y[1::2])
    signs = 1 - 2 * (np.arange(1 << 12)[:, None] >> np.arange(12) & 1)
    case("sigma", "direct: mean of the variances of D over all 2^12 coins", {"y": y},
         {"sigma": math.sqrt(float(np.mean(np.var(signs * u, axis=1, ddof=1))))})
    draws = SplitMix(5)
    far = [abs(float(np.dot(1 - 2 * np.array(draws.coins(12)), u))) for _ in range(100_000 + 500)]
    reference = np.sort(far[:100_000])
    beyond = 100_000 - np.searchsorted(reference, np.array(far[100_000:]) - 1e-12 * reference[-1])
    case("redraw", "direct: the same drawn coins", {"y": y, "seed": 5, "sequences": 500, "alpha": ALPHA},
         {"rejected": int(np.sum((1 + beyond) / 100_001 <= ALPHA))})
    minutes = np.exp(random.normal(3, 0.2, (240, 2)))
    minutes = [[round(float(a), 6), round(float(b), 6)] for a, b in minutes]
    for burn_in in (0, 1):
        sigmas = []
        for steps in (2, 5, 10):
            sums = np.array(minutes).reshape(-1, steps, 2)[:, burn_in:].sum(axis=1)
            log = np.log(sums[:, 0] / sums[:, 1])
            sigmas.append(math.sqrt(float(np.mean((log[0::2] - log[1::2]) ** 2))))
        case("lengths", "direct: numpy", {"minutes": minutes, "steps": [2, 5, 10], "burn_in": burn_in},
             {"sigmas": sigmas})


def gate_cases():
    for opened, weights in [([5010, 4990], [1, 1]), ([960, 40], [0.95, 0.05]), ([100, 140, 90], [1, 1, 1])]:
        expected = np.array(weights) / sum(weights) * sum(opened)
        test = stats.chisquare(opened, expected)
        case("sample_ratio", "scipy.stats.chisquare", {"opened": opened, "weights": weights},
             {"chi_square": float(test.statistic), "p": float(test.pvalue)})


def cuped_cases(d):
    x = [round(float(v), 6) for v in 0.5 * np.array(d) + random.normal(0, 0.2, len(d))]
    fit = sm.OLS(np.array(d), np.array(x)).fit()
    case("cuped", "statsmodels OLS without intercept", {"d": d, "x": x},
         {"theta": float(fit.params[0]), "explained": float(fit.rsquared),
          "differences": [float(v) for v in fit.resid]})


def main():
    for package, wanted in PACKAGES.items():
        assert version(package) == wanted, f"{package} {version(package)}: {wanted} is needed"
    schedule_cases()
    distribution_cases()
    made = series()
    for name, d in made.items():
        estimate_cases(name, d)
        flip_cases(name, d)
        sequence_cases(name, d)
        cross_check_cases(name, d)
    planning_cases()
    gate_cases()
    cuped_cases(made["normal 13"])
    secondary.all_cases()
    lines = ",\n".join(json.dumps(c, ensure_ascii=False, allow_nan=False, default=float) for c in cases)
    packages = json.dumps(PACKAGES)
    text = f'{{"made_by": "make-vectors.py", "packages": {packages}, "cases": [\n{lines}\n]}}\n'
    pathlib.Path(__file__).with_name("vectors.json").write_text(text)


if __name__ == "__main__":
    main()
