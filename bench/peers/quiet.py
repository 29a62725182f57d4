"""Waits for other processes to leave the processors alone."""

import time

BUSY = 0.1  # of a processor, used by others
BUDGET = 180.0  # seconds of waiting in a whole run, so that a busy machine still ends


class Quiet:
    """Two threads of PyTorch that share a processor with somebody else wait for
    each other most of the time, which says nothing about PyTorch."""

    def __init__(self):
        self.waited = 0.0

    def wait(self, limit=5.0):
        """Waits until little else runs, for so many seconds at most."""
        until = self.waited + min(limit, BUDGET - self.waited)
        while self.waited < until and busy(0.2) > BUSY:
            self.waited += 0.2


def busy(seconds):
    """How many processors are at work; 0 where /proc does not tell."""
    try:
        before = ticks()
        time.sleep(seconds)
        after = ticks()
    except OSError:
        return 0.0
    return (after - before) / 100 / seconds


def ticks():
    """Hundredths of a second that processors have worked: all but idle, iowait."""
    with open("/proc/stat", encoding="ascii") as f:
        fields = [int(field) for field in f.readline().split()[1:9]]
    return sum(fields) - fields[3] - fields[4]
