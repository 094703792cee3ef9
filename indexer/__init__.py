"""Personal files become candidates and features. Documents only: no learning."""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # onnxruntime 1.32, by which extras run models, tells its maker as it loads
