"""Special functions that mpmath has under no name, written in its functions."""

import mpmath as m


def gamma_p(a, x):
    return m.gammainc(a, 0, x, regularized=True)


def gamma_q(a, x):
    return m.gammainc(a, x, m.inf, regularized=True)


def beta_i(a, b, x):
    return m.betainc(a, b, 0, x, regularized=True)


def beta_c(a, b, x):
    return m.betainc(b, a, 0, 1 - x, regularized=True)


def student(v, t):
    tail = beta_i(v / 2, m.mpf(1) / 2, v / (v + t * t)) / 2
    return tail if t < 0 else 1 - tail


def f_lower(n, d, x):
    return beta_i(n / 2, d / 2, n * x / (d + n * x))


def f_upper(n, d, x):
    return beta_i(d / 2, n / 2, d / (d + n * x))


def _poisson(rate, term):
    """Σ exp(-rate) rate^j / j! term(j), from the largest weight to both sides."""
    middle = int(rate)
    total = m.mpf(0)
    for step in (1, -1):
        j = middle if step == 1 else middle - 1
        while j >= 0:
            log = -rate + (j * m.log(rate) if j else 0) - m.loggamma(j + 1)
            part = m.exp(log) * term(j)
            total += part
            if abs(part) <= abs(total) * m.eps or part == 0:
                break
            j += step
    return total


def chi_square(x, k, nc):
    return _poisson(nc / 2, lambda j: gamma_p(k / 2 + j, x / 2))


def nc_f(n, d, nc, x):
    return _poisson(nc / 2, lambda j: beta_i(n / 2 + j, d / 2, n * x / (d + n * x)))


def nc_t(v, mu, t):
    """AS 243."""
    if t < 0:
        return 1 - nc_t(v, -mu, -t)
    x, half = t * t / (v + t * t), mu * mu / 2
    even = _poisson(half, lambda j: beta_i(j + m.mpf(1) / 2, v / 2, x))
    odd = (
        mu
        / m.sqrt(2)
        * _poisson(
            half, lambda j: m.gamma(j + 1) / m.gamma(j + m.mpf(3) / 2) * beta_i(j + 1, v / 2, x)
        )
    )
    return m.ncdf(-mu) + (even + odd) / 2


def wright(a, b, x):
    return m.nsum(lambda k: x**k * m.rgamma(k + 1) * m.rgamma(a * k + b), [0, m.inf], method="d")


def wofz(z):
    return m.exp(-z * z) * m.erfc(-1j * z)


def voigt(x, s, g):
    return m.re(wofz((x + 1j * g) / (s * m.sqrt(2)))) / (s * m.sqrt(2 * m.pi))


def kelvin(a, b):
    return lambda x: a(0, x) + 1j * b(0, x)


def kelvin_slope(kind):
    """be' and ke' by Bessel functions of first order: DLMF 10.63.2"""
    if kind == "be":  # J0(x e^{3πi/4})
        return lambda x: -m.expjpi(0.75) * m.besselj(1, x * m.expjpi(0.75))
    return lambda x: -m.expjpi(0.25) * m.besselk(1, x * m.expjpi(0.25))


def moment(a, p, v):
    q = p + v + 1
    return a**v / (m.gamma(v + 1) * q) * m.hyp1f2(q / 2, q / 2 + 1, v + 1, -a * a)


def smirnov(n, x):
    n = int(n)
    total = (1 - x) ** n
    for j in range(1, n):
        a = x + m.mpf(j) / n
        if a < 1:
            total += m.binomial(n, j) * x * a ** (j - 1) * (1 - a) ** (n - j)
    return total


def sh_jacobi(n, p, q, x):
    return m.jacobi(n, p - q, q - 1, 2 * x - 1) / m.binomial(2 * n + p - 1, n)


def omega(z):
    k = m.ceil((m.im(z) - m.pi) / (2 * m.pi))
    return m.lambertw(m.exp(z), int(k))


def log_ndtr(x):
    return m.log(m.erfc(-x / m.sqrt(2)) / 2)


def tukey(p, shape):
    return (p**shape - (1 - p) ** shape) / shape if shape else m.log(p / (1 - p))


def boxcox(x, p):
    return (x**p - 1) / p if p else m.log(x)


def inv_boxcox(y, p):
    return (p * y + 1) ** (1 / p) if p else m.exp(y)


def struve_over(x):
    return -m.struveh(0, x) / x


def gaussian(h):
    return m.exp(-h * h / 2) / m.sqrt(2 * m.pi)


def fresnel_m(sign):
    turn = m.expjpi(sign * 0.25)
    return lambda x: m.sqrt(m.pi) / 2 * turn * m.erfc(x / turn)


def fresnel_k(sign):
    f = fresnel_m(sign)
    return lambda x: m.exp(-sign * 1j * (x * x + m.pi / 4)) * f(x) / m.sqrt(m.pi)


def degrees(f):
    return lambda x: f(x * m.pi / 180)


def ellipj(kind):
    return lambda u, k: m.ellipfun(kind, u, m=k)


def airye(f, sign):
    return lambda x: f(x) * m.exp(sign * (m.mpf(2) / 3) * x * m.sqrt(x))


def airye_b(f):
    return lambda x: f(x) * m.exp(-abs(m.re((m.mpf(2) / 3) * x * m.sqrt(x))))


AI, AIP = m.airyai, lambda x: m.airyai(x, derivative=1)
BI, BIP = m.airybi, lambda x: m.airybi(x, derivative=1)
PI2 = 2 * m.pi
