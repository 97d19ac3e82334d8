"""Plain NumPy versions of every kernel, copied from the paper's formulas for c > 0: short, slow and easy to verify."""

import numpy as np


def gap(X, c):
    return 1 - c * np.sum(X**2, axis=-1)


def norm(X):
    return np.sqrt(np.sum(X**2, axis=-1))


def mobius_add(x, y, c):
    xy, xx, yy = (np.sum(a * b, axis=-1, keepdims=True) for a, b in ((x, y), (x, x), (y, y)))
    return ((1 + 2 * c * xy + c * yy) * x + (1 - c * xx) * y) / (1 + 2 * c * xy + c**2 * xx * yy)


def distance(x, y, c):
    return 2 / np.sqrt(c) * np.arctanh(np.sqrt(c) * norm(mobius_add(-x, y, c)))


def pairwise_distance(X, Y, c):
    return np.array([[distance(x, y, c) for y in Y] for x in X])


def conformal_factor(p, c):
    return 2 / gap(p, c)


def log_map(X, p, c):
    Y = mobius_add(-p, X, c)
    length = norm(Y)[..., None]
    return 2 / conformal_factor(p, c) / np.sqrt(c) * np.arctanh(np.sqrt(c) * length) * Y / length


def frame_coordinates(X, p, c):
    return conformal_factor(p, c) * log_map(X, p, c)


def eta(X, p, c):
    length = norm(log_map(X, p, c))
    t = np.tanh(np.sqrt(c) * conformal_factor(p, c) * length / 2)
    return 2 * t / ((1 - t**2) * np.sqrt(c) * length)


def z_features(X, p, c):
    return eta(X, p, c)[:, None] * log_map(X, p, c)


def hyperplane_distance(x, w, p, c):
    """The first closed form of the paper."""
    y = mobius_add(-p, x, c)
    return np.arcsinh(2 * np.sqrt(c) * abs(y @ w) / (gap(y, c) * norm(w))) / np.sqrt(c)


def hyperplane_distance_in_tangent_space(x, w, p, c):
    """The second closed form, a function of v = log_p(x) alone."""
    v = log_map(x, p, c)
    t = np.tanh(np.sqrt(c) * conformal_factor(p, c) * norm(v) / 2)
    return np.arcsinh(2 * t * abs(v @ w) / ((1 - t**2) * norm(w) * norm(v))) / np.sqrt(c)


def cone_coordinates(X, p, c):
    """Hyperboloid coordinates of (-p) ⊕ x and a constant 1, times ρ / sinh ρ."""
    Y, rho = mobius_add(-p, X, c), np.sqrt(c) * distance(X, p, c)
    columns = [2 / gap(Y, c) - 1, 2 * np.sqrt(c) * Y / gap(Y, c)[:, None], np.ones(len(Y))]
    return (rho / np.sinh(rho))[:, None] * np.column_stack(columns)


def shrink(u2):
    u = np.sqrt(u2)
    return np.arcsinh(u) / (u * np.sqrt(1 + u2))


def centred_dot(X, w, p):
    return (X - p) @ w


def centred_sum(X, q, p):
    return (X - p).T @ q


def perceptron(Z, y):
    """One pass of the paper's update rule; returns w and the number of updates."""
    w, updates = np.zeros(Z.shape[1]), 0
    for z, label in zip(Z, y, strict=True):
        if label * (w @ z) <= 0:
            w, updates = w + label * z, updates + 1
    return w, updates


def second_order_perceptron(Z, y, a, *, current_row_inside=True):
    """One pass of the paper's Algorithm 1; returns the weights and the mistaken rows. a = 0 uses the pseudo-inverse."""
    d = Z.shape[1]
    xi, X = np.zeros(d), np.zeros((d, 0))

    def inverse(S):
        A = a * np.eye(d) + S @ S.T
        return np.linalg.inv(A) if a > 0 else np.linalg.pinv(A, rcond=1e-13, hermitian=True)

    mistaken = []
    for t, (z, label) in enumerate(zip(Z, y, strict=True)):
        S = np.column_stack([X, z])
        margin = (inverse(S if current_row_inside else X) @ xi) @ z
        # Values that are 0 in exact arithmetic are rounding errors here.
        margin = 0.0 if abs(margin) < 1e-10 else margin
        if np.sign(margin) != label:
            xi, X = xi + label * z, S
            mistaken.append(t)
    return inverse(X) @ xi, np.array(mistaken)


def svm_primal(U, C, w, problem):
    """P(w) of the hinge, of the squared hinge, or of the hard margin (infinite if a margin is below 1)."""
    slack = np.maximum(0, 1 - U @ w)
    if problem == "hard":
        return 0.5 * w @ w if np.all(slack[C > 0] < 1e-9) else np.inf
    return 0.5 * w @ w + C @ slack ** (2 if problem == "squared_hinge" else 1)


def svm_dual(U, C, alpha, problem):
    """D(α); rows with α = 0 contribute nothing for any C."""
    v, used = alpha @ U, alpha > 0
    penalty = np.sum(alpha[used] ** 2 / (4 * C[used])) if problem == "squared_hinge" else 0.0
    return alpha.sum() - 0.5 * v @ v - penalty


def sides(U, C, w, below, above):
    """Masks of the rows that are gathered, and of those that are clamped: below the margin and not gathered."""
    g, length = U @ w - 1, norm(U)
    paid, near = C > 0, np.abs(g) <= np.where(g < 0, below, above) * length
    return paid & near, paid & ~near & (g < 0)


def platt_loss(sigmoid, scores, positive, weights):
    """Negative log-likelihood of Lin, Lin and Weng (2007), with Platt's targets; weights count as copies of rows."""
    a, b = sigmoid
    W_positive, W_negative = weights[positive].sum(), weights[~positive].sum()
    total = 0.0
    for s, is_positive, w in zip(scores, positive, weights, strict=True):
        t = (W_positive + 1) / (W_positive + 2) if is_positive else 1 / (W_negative + 2)
        total += w * (t * np.logaddexp(0, -(a * s + b)) + (1 - t) * np.logaddexp(0, a * s + b))
    return total


def hyperboloid_svm(R, y, C, n):
    """P(n) of Cho et al., one row after the other, with [n, x] = -n⁰x⁰ + Σ nʲxʲ."""

    def minkowski(a, b):
        return -a[0] * b[0] + sum(a[j] * b[j] for j in range(1, len(a)))

    total = 0.5 * minkowski(n, n)
    for x, label, cost in zip(R, y, C, strict=True):
        total += cost * max(0.0, np.arcsinh(1) - np.arcsinh(label * minkowski(n, x)))
    return total


def hyperboloid_epoch(R, y, C, firsts, batch, step, slope, u):
    """One epoch of projected gradient descent, row by row; u = (-n⁰, n)."""
    u, N = u.copy(), len(R)
    for start in firsts:
        rows = range(start, min(start + batch, N))
        gradient = len(rows) / N * np.concatenate([[-u[0]], u[1:]])
        for i in rows:
            score = R[i] @ u
            if y[i] * score < 1:
                gradient -= C[i] * y[i] * R[i] / np.sqrt(1 + score**2)
        u -= step * gradient
        length = norm(u[1:])
        if abs(u[0]) > slope * length:
            edge = np.concatenate([[np.sign(u[0]) * slope], u[1:] / length])
            u = edge * (u @ edge) / (edge @ edge)
    return u


def hyperboloid_perceptron(R, y, w):
    """One pass of Weber et al.'s rule as printed in the paper; None if its normalisation does not exist."""
    H = np.diag([-1.0] + [1.0] * (R.shape[1] - 1))
    for x, label in zip(R, y, strict=True):
        if -label * (w @ H @ x) <= 0:
            u = w + label * x
            if u @ H @ u <= 0:
                return None
            w = u / min(1, np.sqrt(u @ H @ u))
    return w


def softmax_probabilities(rows, W):
    powers = np.exp(rows @ W.T)
    return powers / powers.sum(axis=1, keepdims=True)


def softmax_primal(rows, codes, C, W):
    """P(W) = ½‖W‖² + Σ C log(1 / π_y)."""
    return 0.5 * np.sum(W**2) - C @ np.log(softmax_probabilities(rows, W)[np.arange(len(rows)), codes])


def softmax_dual(rows, codes, C, pi):
    """D(α) with α = C (e_y - π), for any probabilities π."""
    alpha = C[:, None] * (np.eye(pi.shape[1])[codes] - pi)
    return -C @ np.sum(pi * np.log(pi), axis=1) - 0.5 * np.sum((alpha.T @ rows) ** 2)


def softmax_gradient(rows, codes, C, W):
    residual = softmax_probabilities(rows, W) - np.eye(len(W))[codes]
    return W + (C[:, None] * residual).T @ rows


def softmax_hessian(rows, C, W):
    """I + Σ C (diag π - ππᵀ) ⊗ xxᵀ."""
    hessian = np.eye(W.size)
    for x, cost, pi in zip(rows, C, softmax_probabilities(rows, W), strict=True):
        hessian += cost * np.kron(np.diag(pi) - np.outer(pi, pi), np.outer(x, x))
    return hessian


def leave_one_out(rows, codes, weights, C, W, by_class, easy):
    """Log-probability of each row's class after a Newton step without a copy of the row.

    The step is made in the diagonal blocks of the Hessian. If ``by_class`` is False, it is made in the full Hessian for
    rows whose scores change by more than ``easy`` in the blocks.
    """
    (K, d), found = W.shape, []
    hessian = softmax_hessian(rows, C * weights, W)
    for x, code, weight, pi in zip(rows, codes, weights, softmax_probabilities(rows, W), strict=True):
        factor, cost, residuals = K / (K - 1), C * min(weight, 1.0), pi - np.eye(K)[code]
        changes = np.empty(K)
        for k in range(K):
            block = hessian[k * d : (k + 1) * d, k * d : (k + 1) * d] - np.eye(d)
            without = np.eye(d) + factor * (block - cost * pi[k] * (1 - pi[k]) * np.outer(x, x))
            changes[k] = cost * residuals[k] * (x @ np.linalg.solve(without, x))
        if not by_class and np.max(np.abs(changes)) > easy:
            without = hessian - cost * np.kron(np.diag(pi) - np.outer(pi, pi), np.outer(x, x))
            changes = np.linalg.solve(without, cost * np.kron(residuals, x)).reshape(K, d) @ x
        scores = W @ x + changes
        found.append(scores[code] - np.logaddexp.reduce(scores))
    return np.array(found)


def outlier_share(log_pi, weights, K, assumed):
    """The most likely share of rows with a class at random, on a grid that becomes finer, after some are added."""
    low, high = np.log(1e-9), np.log(1 - 1e-9)
    for _ in range(40):
        shares = np.exp(np.linspace(low, high, 41))
        mixed = np.log(shares[:, None] / K + (1 - shares[:, None]) * np.exp(log_pi))
        best = np.argmax(mixed @ weights)
        low, high = np.log(shares[max(best - 1, 0)]), np.log(shares[min(best + 1, 40)])
    return (shares[best] * weights.sum() + assumed) / (weights.sum() + 2 * assumed)


def forest_accessibilities(weights):
    """(I + L)⁻¹ of a full symmetric matrix of weights."""
    return np.linalg.inv(np.eye(len(weights)) + np.diag(weights.sum(axis=1)) - weights)


def row_divergences(Q, D, gamma):
    """Symmetric Kullback-Leibler divergence of each row of Q and the softmax of -γ D."""
    P = np.exp(-gamma * D)
    P /= P.sum(axis=1, keepdims=True)
    return np.sum((Q - P) * np.log(Q / P), axis=1)


def row_attractions(Q, D, gamma):
    """Part of the divergences that exaggeration multiplies: Σ q (ln q + γ d)."""
    return np.sum(Q * (np.log(Q) + gamma * D), axis=1)


def naive_p_values(scores, held, groups):
    """The p-value of each new row and class, by the formula."""
    n, K = scores[0].shape
    p = np.empty((n, K))
    for x in range(n):
        for k in range(K):
            count = total = 1.0
            for s, y, fold, w in zip(*held, strict=True):
                if groups[y] == groups[k]:
                    count += w * (s >= scores[fold][x, k])
                    total += w
            p[x, k] = count / total
    return p


def naive_distance_p_values(X, rows, codes, weights, c, groups, nearest=5):
    """p-values of full conformal prediction: the new row is added to class k, then all rows are scored again."""
    p = np.empty((len(X), codes.max() + 1))
    for x, new in enumerate(X):
        for k in range(p.shape[1]):
            points, labels = np.vstack([rows, new]), np.append(codes, k)
            scores = []
            for i in range(len(points)):
                others = points[(labels == labels[i]) & (np.arange(len(points)) != i)]
                D = np.linalg.norm(others - points[i], axis=1)
                if c is not None:
                    gaps = (1 - c * points[i] @ points[i]) * (1 - c * np.sum(others**2, axis=1))
                    D = 2 / np.sqrt(c) * np.arcsinh(np.sqrt(c) * D / np.sqrt(gaps))
                scores.append(np.mean(np.sort(D)[:nearest]) if len(D) else 0.0)
            compared = groups[labels[:-1]] == groups[k]
            at_least = np.array(scores[:-1]) >= scores[-1] * (1 - 1e-12)
            p[x, k] = (1 + np.sum(weights[compared & at_least])) / (1 + np.sum(weights[compared]))
    return p
