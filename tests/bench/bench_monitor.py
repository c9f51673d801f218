"""What the monitor costs while it is watched and an answer is generated: at most 3 % of one core at 2 Hz.

Run: `python -m tests.bench.bench_monitor`; exits 1 when it costs more.
"""

import os
import random
import time
from typing import Final

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication

from app.hardware.facts import GpuSample, HostSample, Sample
from app.texts import Texts
from app.ui.theme.fonts import load_fonts
from app.ui.theme.look import Look, LookSource
from app.ui.theme.style_sheet import apply_look
from app.ui.theme.tokens import DARK
from app.ui.views.monitor_tab import MonitorTab

GIB: Final = 1024**3
FRAMES: Final = 100
FRAMES_PER_SECOND: Final = 2
LARGEST_SHARE: Final = 0.03
LARGEST_HIDDEN_SHARE: Final = 0.001


class Feed:
    """A machine that reads prompts and answers, with noise on every sensor."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self._read_bytes = 0
        self._random = random.Random(1)

    def next_sample(self) -> Sample:
        """Return the sample half a second later."""
        self.seconds += 1 / FRAMES_PER_SECOND
        self._read_bytes += self._random.randrange(40_000_000)
        noise = self._random.gauss(0, 1)
        gpu = GpuSample(
            0, int((10.8 + 0.02 * noise) * GIB), 12 * GIB, int(60 + 2 * noise), int(1e3 * (112 + 5 * noise))
        )
        host = HostSample(60 + 4 * noise, int((15 + 0.1 * noise) * GIB), 17 * GIB, self._read_bytes)
        return Sample(self.seconds, host, (gpu,))


def cpu_seconds_per_frame(app: QApplication, tab: MonitorTab, feed: Feed) -> float:
    """Return the processor time of this process for one sample, its drawing included."""
    spent = 0.0
    for _ in range(FRAMES):
        start = time.process_time()
        tab.show_speed(31.5, is_prefill=False)
        tab.show_sample(feed.next_sample())
        app.processEvents()
        _let_frame_time_pass(app, tab)  # strips are painted one after the other
        spent += time.process_time() - start
    return spent / FRAMES


def _let_frame_time_pass(app: QApplication, tab: MonitorTab) -> None:
    """Wait until the tab draws the next sample at once, as it does in life."""
    while tab.is_pausing:
        time.sleep(0.02)
        app.processEvents()


def main() -> None:
    """Print the costs; exit 1 when one is too high."""
    app = QApplication([])
    load_fonts()
    look = Look(DARK, Texts("en"))
    apply_look(app, look)
    feed = Feed()
    tab = MonitorTab(LookSource(look), clock=lambda: feed.seconds)
    tab.resize(328, 748)
    hidden = cpu_seconds_per_frame(app, tab, feed) * FRAMES_PER_SECOND
    for _ in range(240):
        tab.show_sample(feed.next_sample())
    tab.show()
    app.processEvents()
    before = tab.frame_count
    shown = cpu_seconds_per_frame(app, tab, feed) * FRAMES_PER_SECOND
    print(f"shown:  {shown:.2%} of one core at {FRAMES_PER_SECOND} Hz ({tab.frame_count - before} frames)")
    print(f"hidden: {hidden:.3%} of one core")
    if shown > LARGEST_SHARE or hidden > LARGEST_HIDDEN_SHARE:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
