r"""An attack: free riders, clients that send back the ranker they were given.

foltr-search --simulate sample --with examples/silent.py --set federation.attack.attack=silent \
    --set federation.malicious=3

An attack sees a round before it is joined and says what the malicious clients send; its fields are its settings.
"""

import numpy as np

from simulation import AttackSettings


class Silent(AttackSettings, frozen=True, tag="silent"):
    """Nothing learned, nothing said."""

    def send(self, scene):
        """[n_malicious, n_sent]"""
        return np.tile(scene.start, (scene.n_malicious, 1))


ATTACKS = {"silent": Silent}
