import { closeFd } from "../../src/core/native/fd.ts";
import { libc } from "../../src/core/native/libc.ts";
import { signals, SyncLane } from "../../src/dmabuf/sync.ts";
import { socketPair } from "../libc.ts";

Deno.test("dmabuf: a sync file that somebody else sees over, and closes, during a wait for it and another", async () => {
  const [[first, signal], [second, other]] = [socketPair(), socketPair()];
  const lane = new SyncLane(signals.lane.events);
  lane.files = [{ mark: 1, fd: first, owned: false }, { mark: 2, fd: second, owned: false }];
  const waiting = signals.driver.lines.waitElsewhere(lane, 2);
  lane.files = [];
  closeFd(second);
  libc().write(signal, Uint8Array.of(1), 1n);
  await waiting;
  [first, signal, other].forEach(closeFd);
});
