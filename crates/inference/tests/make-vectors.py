#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes vectors.json beside this file: inputs, and what independent Python packages say of them.

    apt-get install libboost-dev            # confseq is compiled
    python3 -m venv /tmp/vectors
    /tmp/vectors/bin/pip install numpy==2.4.6 scipy==1.17.1 statsmodels==0.15.0 mpmath==1.4.1 matplotlib plotly pydantic \
        pybind11==2.13.6 scikit-build==0.19.1 cmake ninja
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
from importlib.metadata import version

import confseq.boundaries
import mpmath
import numpy as np
import pandas as pd
import statsmodels.api as sm
from expectation.modules.hypothesistesting import SymmetryETest
from scipy import optimize, stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import normal_sample_size_one_tail
from statsmodels.stats.weightstats import DescrStatsW

PACKAGES = {"numpy": "2.4.6", "scipy": "1.17.1", "statsmodels": "0.15.0", "mpmath": "1.4.1", "confseq": "0.0.11",
            "expectation": "0.6.1"}
BETS = [0.08, 0.12, 0.18, 0.27, 0.4, 0.6, 0.9, 1.35, 2.0]
ALPHA = 0.05
MASK = (1 << 64) - 1

random = np.random.default_rng(26)
cases = []


def case(quantity, oracle, given, expected):
    cases.append({"quantity": quantity, "oracle": oracle, "input": given, "expected": expected})


def series():
    """Differences of several kinds and lengths; the ties are exact, and some sums of signs are exactly 0."""
    made = {f"normal {n}": random.normal(0.3, 0.5, n) for n in (6, 8, 13, 20, 30)}
    made["pareto 12"] = 0.1 + random.choice([-1, 1], 12) * random.pareto(1.5, 12)
    made["t2 16"] = random.standard_t(2, 16) * 0.2
    made["ties 10"] = np.array([0.25, 0.25, -0.25, 0.5, 0.5, 0.0, -0.5, 0.75, 0.25, 0.5])
    made["symmetric 8"] = np.array([1, -1, 2, -2, 3, -3, 0.5, -0.5])
    made["large 40"] = random.normal(-0.1, 0.3, 40)
    return {name: [round(float(v), 6) for v in values] for name, values in made.items()}


class SplitMix:
    """https://prng.di.unimi.it/splitmix64.c"""

    def __init__(self, seed):
        self.state = seed

    def word(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def coins(self, count):
        bits = []
        for start in range(0, count, 64):
            word = self.word()
            bits += [word >> bit & 1 for bit in range(min(64, count - start))]
        return bits


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
    over = [min(1, *(math.exp(-log_side(d[:t], margin, sigma, sign)) for t in range(1, len(d) + 1))) for sign in (1, -1)]
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
            case("plan", "statsmodels normal_sample_size_one_tail + 2", {"ratio": ratio, "power": power},
                 {"pairs": math.ceil(raw + 2), "anytime": math.ceil(2.6 * (raw + 2)), "effect_of_72": back})
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
    sigmas = []
    for multiple in (1, 2, 5):
        sums = np.array(minutes).reshape(-1, multiple, 2).sum(axis=1)
        log = np.log(sums[:, 0] / sums[:, 1])
        sigmas.append(math.sqrt(float(np.mean((log[0::2] - log[1::2]) ** 2))))
    case("lengths", "direct: numpy", {"minutes": minutes, "multiples": [1, 2, 5]}, {"sigmas": sigmas})


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
         {"theta": float(fit.params[0]), "explained": float(fit.rsquared), "differences": [float(v) for v in fit.resid]})


def flows(clusters):
    """Flows of unequal clusters: (cluster, treated, value); some clusters have one arm only."""
    rows = []
    for cluster in range(clusters):
        level, bias = random.normal(0, 0.4), random.choice([0.0, 0.5, 1.0], p=[0.2, 0.6, 0.2])
        for _ in range(random.integers(2, 14)):
            treated = int(random.random() < bias)
            rows.append((cluster, treated, round(float(1 + level + 0.2 * treated + random.normal(0, 0.5)), 6)))
    return rows


def cluster_cases():
    rows = flows(36)
    g, t, y = (np.array(column) for column in zip(*rows))
    design = np.column_stack([np.ones(len(t)), t])
    inverse = np.linalg.inv(design.T @ design)
    hat = design @ inverse @ design.T
    residuals = y - hat @ y
    contrast, p_vectors, variance = np.array([0.0, 1.0]), [], 0.0
    for cluster in np.unique(g):
        own = np.where(g == cluster)[0]
        values, vectors = np.linalg.eigh(np.eye(len(own)) - hat[np.ix_(own, own)])
        root = vectors @ np.diag(values**-0.5) @ vectors.T
        weights = root @ design[own] @ inverse @ contrast
        variance += float(weights @ residuals[own]) ** 2
        full = np.zeros(len(t))
        full[own] = weights
        p_vectors.append(full)
    p_matrix = np.array(p_vectors)
    q = p_matrix @ (np.eye(len(t)) - hat) @ p_matrix.T
    fit = sm.OLS(y, design).fit()
    case("cr2", "direct: numpy, flow by flow with eigenvectors of I - H; difference: statsmodels OLS", {"rows": rows},
         {"difference": float(fit.params[1]), "error": math.sqrt(variance),
          "freedom": float(np.trace(q) ** 2 / np.sum(q**2))})

    clustered = lambda values: float(sm.OLS(values, design).fit(cov_type="cluster", cov_kwds={"groups": g}).tvalues[1])
    draws, count, observed, beyond = SplitMix(3), 499, abs(clustered(y)), 0
    for _ in range(count):
        keep = np.array(draws.coins(36))[g]
        beyond += abs(clustered(y.mean() + np.where(keep == 1, 1, -1) * (y - y.mean()))) >= observed * (1 - 1e-12)
    case("wild", "statsmodels OLS with cov_type cluster, over the same drawn coins",
         {"rows": rows, "seed": 3, "draws": count}, {"p": (1 + int(beyond)) / (1 + count)})

    table = pd.DataFrame({"y": y, "g": g})
    squares = anova_lm(ols("y ~ C(g)", table).fit())["mean_sq"]
    sizes = np.bincount(g)
    size = (len(y) - np.sum(sizes**2) / len(y)) / (len(sizes) - 1)
    between, within = float(squares.iloc[0]), float(squares.iloc[1])
    case("intraclass", "statsmodels anova_lm", {"rows": rows},
         {"correlation": (between - within) / (between + (size - 1) * within)})


def ratio_cases():
    arms, expected = [], []
    for level in (3.0, 3.3):
        below = np.round(random.gamma(2, 5, 40) + 0.5, 6)
        above = np.round(below * level * np.exp(random.normal(0, 0.3, 40)), 6)
        fit = sm.WLS(above / below, np.ones(40), weights=below).fit(cov_type="HC1")
        arms.append([[float(a), float(b)] for a, b in zip(above, below)])
        expected += [float(fit.params[0]), float(fit.bse[0])]
    own, own_error, other, other_error = expected
    case("ratio", "statsmodels WLS with HC1", {"own": arms[0], "other": arms[1]},
         {"ratio": own, "error": own_error, "log_difference": math.log(own) - math.log(other),
          "log_error": math.sqrt((own_error / own) ** 2 + (other_error / other) ** 2)})


def hourly_cases():
    y = [round(float(v), 6) for v in np.convolve(random.normal(5, 1, 51), [0.5, 0.3, 0.2], "valid")]
    for lags in (0, 1, 4, 60):
        for treated in ([int(i >= 25) for i in range(49)], [int(i % 5 < 2) for i in range(49)]):
            design = sm.add_constant(np.array(treated))
            kwargs = {"maxlags": min(lags, 48), "use_correction": False}
            if lags > 48:  # statsmodels wants no more lags than values: the same weights, written out
                kwargs["kernel"] = lambda _: np.array([1 - l / (lags + 1) for l in range(49)])
            fit = sm.OLS(np.array(y), design).fit(cov_type="HAC", cov_kwds=kwargs)
            case("newey_west", "statsmodels OLS with HAC", {"y": y, "treated": treated, "lags": lags},
                 {"difference": float(fit.params[1]), "error": float(fit.bse[1])})
    case("autocorrelation", "statsmodels acf", {"y": y}, {"phi": float(sm.tsa.acf(y, nlags=1, adjusted=False)[1])})


def multiplicity_cases():
    for p in ([0.01, 0.04, 0.03, 0.005, 0.5], [0.2, 0.2, 0.01, 1.0, 0.011, 0.0499], [0.3]):
        case("multiplicity", "statsmodels multipletests", {"p": p},
             {"holm": [float(v) for v in multipletests(p, method="holm")[1]],
              "benjamini_hochberg": [float(v) for v in multipletests(p, method="fdr_bh")[1]]})


def histogram_cases():
    bounds = [100, 200, 400, 800, 1600, 3200]
    counts = [[3, 14, 15, 92, 65, 35], [8, 9, 79, 32, 38, 4]]
    together = np.cumsum(np.sum(counts, axis=0))
    shares = [0.003, 0.25, 0.5, 0.9, 0.95, 0.99]
    case("histogram", "direct: numpy.interp over cumulative counts", {"bounds": bounds, "counts": counts, "shares": shares},
         {"quantiles": [float(np.interp(s * together[-1], [0, *together], [0, *bounds])) for s in shares]})


def hold_out_cases():
    rows = np.round(random.normal([0.1, -0.3, 0.5, 0.0], 0.2, (15, 4)), 6)
    many, rest_of_many, few, rest_of_few = rows.T
    values = {"split_effect_of_many": many - rest_of_many, "split_effect_of_few": few - rest_of_few,
              "total_effect": many - rest_of_few, "spill_over": rest_of_many - rest_of_few,
              "bias_of_few": few - many, "interference": many - rest_of_many - few + rest_of_few}
    expected = {}
    for name, v in values.items():
        lower, upper = DescrStatsW(v).tconfint_mean(ALPHA)
        expected[name] = [float(np.mean(v)), float(lower), float(upper)]
    case("hold_out", "statsmodels DescrStatsW", {"rows": rows.tolist(), "alpha": ALPHA}, expected)


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
    cluster_cases()
    ratio_cases()
    hourly_cases()
    multiplicity_cases()
    histogram_cases()
    hold_out_cases()
    lines = ",\n".join(json.dumps(c, ensure_ascii=False, allow_nan=False, default=float) for c in cases)
    packages = json.dumps(PACKAGES)
    text = f'{{"made_by": "make-vectors.py", "packages": {packages}, "cases": [\n{lines}\n]}}\n'
    pathlib.Path(__file__).with_name("vectors.json").write_text(text)


if __name__ == "__main__":
    main()
