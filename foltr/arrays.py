"""The arrays of the program, typed once; their shapes stand in brackets where they are used."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatVector = npt.NDArray[np.float64]
"""`[n]`: theta, scores, weights"""
FloatMatrix = npt.NDArray[np.float64]
"""`[n, m]`: features `[n_docs, n_features]`, updates `[n_clients, n_params]`"""
FloatArray = npt.NDArray[np.float64]
"""of any shape"""
IntVector = npt.NDArray[np.intp]
"""`[n]`: rows of another array, as numpy indexes them"""
Int64Vector = npt.NDArray[np.int64]
"""`[n]`: counts, offsets and grades, the same on every machine"""
Int64Matrix = npt.NDArray[np.int64]
"""`[n, m]`"""
ByteVector = npt.NDArray[np.uint8]
"""`[n]`: a text as its bytes"""
BoolVector = npt.NDArray[np.bool_]
"""`[n]`: which documents were opened, which rows count"""
BoolMatrix = npt.NDArray[np.bool_]
"""`[n, m]`"""
