"""One question to several machines of one person, over ssh: no port is opened, and one ranker orders what all hold."""
