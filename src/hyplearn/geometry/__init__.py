"""Geometry of the Poincaré ball and related models, as pure functions on arrays.

The rows of an array are points. The base point p of a tangent vector, a map or a hyperplane is passed after the point
or vector that refers to it, as in ``log_map(x, p)``. Every function takes ``c``, the absolute curvature.
"""

from hyplearn.geometry.ball import (
    conformal_factor,
    distance,
    exp_map,
    gap,
    geodesic,
    log_map,
    midpoint,
    mobius_add,
    mobius_scale,
    pairwise_distance,
    project,
    ray,
    rotate,
    translate,
    transport,
)
from hyplearn.geometry.closest import ClosestPoints, closest_points
from hyplearn.geometry.hull import closest_vertices, graham_scan, hull_midpoint, hull_vertices, quickhull
from hyplearn.geometry.hyperplane import hyperplane_points, project_onto, side, signed_distance
from hyplearn.geometry.mean import frechet_mean
from hyplearn.geometry.models import (
    ball_to_hyperboloid,
    ball_to_klein,
    half_space_to_ball,
    hyperboloid_to_ball,
    hyperboloid_to_klein,
    klein_to_ball,
    klein_to_hyperboloid,
    minkowski,
)

__all__ = [
    "ClosestPoints",
    "ball_to_hyperboloid",
    "ball_to_klein",
    "closest_points",
    "closest_vertices",
    "conformal_factor",
    "distance",
    "exp_map",
    "frechet_mean",
    "gap",
    "geodesic",
    "graham_scan",
    "half_space_to_ball",
    "hull_midpoint",
    "hull_vertices",
    "hyperboloid_to_ball",
    "hyperboloid_to_klein",
    "hyperplane_points",
    "klein_to_ball",
    "klein_to_hyperboloid",
    "log_map",
    "midpoint",
    "minkowski",
    "mobius_add",
    "mobius_scale",
    "pairwise_distance",
    "project",
    "project_onto",
    "quickhull",
    "ray",
    "rotate",
    "side",
    "signed_distance",
    "translate",
    "transport",
]
