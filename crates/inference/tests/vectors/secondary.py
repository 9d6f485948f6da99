# SPDX-License-Identifier: MIT OR Apache-2.0
"""Oracles of what is not the primary test: splits over clusters, ratios, hourly series, many metrics, histograms."""
import math

import numpy as np
import pandas as pd
import statsmodels.api as sm
from common import ALPHA, SplitMix, case, random
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW


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
            if lags > 48:  # statsmodels takes at most as many lags as values: the same weights, written out
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
    case("histogram", "direct: numpy.interp over cumulative counts",
         {"bounds": bounds, "counts": counts, "shares": shares},
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


def log_ratio_cases():
    """Sums above and below the line of each cluster and arm; some clusters have one arm only."""
    for effect in (0.0, 0.6):
        rows = []
        for cluster in range(41):
            level = random.normal(0, 0.3)
            for treated in (0, 1):
                if cluster % 7 != 3 * treated:
                    below = round(float(random.gamma(2, 5) + 0.5), 6)
                    own = effect * treated + level + random.normal(0, 0.2)
                    rows.append([cluster, treated, round(float(below * np.exp(own)), 6), below])
        g, t, above, below = (np.array(column) for column in zip(*rows))
        model = sm.GLM(above, sm.add_constant(t), family=sm.families.Poisson(), exposure=below)
        fit = model.fit(tol=1e-14, maxiter=200, cov_type="cluster", cov_kwds={"groups": g, "use_correction": False})
        count = len(np.unique(g))
        case("log_ratio", "statsmodels GLM (Poisson, exposure) with cov_type cluster, times G / (G - 1)",
             {"rows": [[int(c), int(a), float(x), float(n)] for c, a, x, n in rows]},
             {"difference": float(fit.params[1]), "error": float(fit.bse[1]) * math.sqrt(count / (count - 1)),
              "freedom": count - 1})


def all_cases():
    cluster_cases()
    ratio_cases()
    hourly_cases()
    multiplicity_cases()
    histogram_cases()
    hold_out_cases()
    log_ratio_cases()
