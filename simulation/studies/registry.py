"""Measurements by the name that [method] calls them by."""

from __future__ import annotations

from simulation.studies import Measurement
from simulation.studies.active_server import ActiveServer
from simulation.studies.privacy_loss import PrivacyLoss
from simulation.studies.reconstruction import Reconstruction

MEASUREMENTS: dict[str, type[Measurement]] = {
    "privacy-loss": PrivacyLoss,
    "active-server": ActiveServer,
    "reconstruction": Reconstruction,
}
"""each a frozen msgspec record, so that its settings are checked"""
