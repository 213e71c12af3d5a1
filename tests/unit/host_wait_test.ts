/** Why the host has to wait, in words: what a line says of another one that it cannot wait for on its device. */
import { assertEquals } from "@std/assert";
import { offerSemaphores } from "../../src/core/device/line_sync.ts";
import { ManualGate } from "../gate.ts";
import { command, FakeDriver, FakeMaker, type FakeSync } from "./fakes.ts";
import { withEmptyLedger } from "./ledger.ts";

/** Why a line of the first kind cannot wait for one of the second. */
function reason(own: FakeSync | undefined, theirs: FakeSync | undefined, refuses?: string): string | undefined {
  const driver = new FakeDriver("one", own);
  if (refuses !== undefined) Object.assign(driver.lines.sync!, { refuses: () => refuses });
  const [one, other] = [driver.line("one"), new FakeDriver("other", theirs).line("other")];
  other.submit([], command(() => {}));
  const found = one.whyHostWaits([other.fence()]);
  other.lane.driveTo(1);
  for (const { resource } of [one, other]) resource.dispose();
  return found;
}

Deno.test(
  "host wait: a line says what two drivers lack to wait for each other",
  withEmptyLedger(() => {
    const none = "has no semaphores and no fences for other drivers";
    assertEquals(reason(undefined, "sync-fd"), `one ${none}`);
    assertEquals(reason("sync-fd", undefined), `other ${none}`);
    assertEquals(reason("sync-fd", "timeline-fd"), "one and other have no kind of semaphore or fence in common");
    assertEquals(reason("sync-fd", "sync-fd"), undefined);
    assertEquals(reason("sync-fd", "sync-fd", "one takes none of these today"), "one takes none of these today");
    assertEquals(
      reason("binary-fd", "binary-fd"),
      "one and other both import binary-fd, and no open context on their device makes such semaphores",
    );
    using _maker = { [Symbol.dispose]: offerSemaphores(new FakeMaker()) };
    assertEquals(reason("binary-fd", "binary-fd"), undefined);
  }),
);

Deno.test(
  "host wait: a promise that is not settled is the reason, before any lack of semaphores",
  withEmptyLedger(() => {
    const [one, other] = [new FakeDriver("one").line("one"), new FakeDriver("other").line("other")];
    const gate = new ManualGate();
    other.waitFor([gate.fence]);
    assertEquals(
      one.whyHostWaits([other.fence()]),
      "other stands behind a promise that is not settled, and one cannot wait for that",
    );
    gate.open();
    other.lane.driveTo(other.submitted);
    for (const { resource } of [one, other]) resource.dispose();
  }),
);
