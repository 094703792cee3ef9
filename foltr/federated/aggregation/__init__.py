"""How a server joins the devices' rows into one vector: pure functions, one rule a file; `registry` names them."""
