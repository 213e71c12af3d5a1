import { assertEquals } from "@std/assert";
import type { Fence } from "../../src/core/life/fence.ts";
import { Work } from "../../src/core/life/work.ts";
import { waitsOnDevice } from "../../src/core/life/waits.ts";
import { fakeContext, FakeFence, FakeWork } from "./fakes.ts";

const device = fakeContext("device");
const isDevices = ({ context }: Fence) => context === device;

/** A fence of the program's, whose code runs when it is waited for. */
class Doing extends FakeFence {
  readonly meanwhile: () => void;

  constructor(meanwhile: () => void) {
    super(new FakeWork());
    this.meanwhile = meanwhile;
  }

  override waitSync(): void {
    super.waitSync();
    this.meanwhile();
  }
}

const onDevice = () => new FakeFence(new FakeWork(), device);

/** What a command on `work` leaves to the device. */
const waitsOn = (work: Work, after: readonly Fence[] = []) =>
  waitsOnDevice(after, isDevices, (waits) => work.beside(undefined, waits));

Deno.test("what the device can wait for is left to it, and the host waits for the rest", () => {
  const work = new Work();
  const [ours, told, foreign] = [onDevice(), onDevice(), new FakeFence(new FakeWork())];
  work.record(ours);
  assertEquals(waitsOn(work, [told, foreign]), [told, ours]);
  assertEquals([ours, told, foreign].map((fence) => fence.work.over), [false, false, true]);
});

Deno.test("what a fence's own code submits is left to the device too, and what it declares is waited for", () => {
  const work = new Work();
  const submitted = onDevice();
  const last = new Doing(() => work.record(submitted));
  work.addUnordered(new Doing(() => work.addUnordered(last)));
  assertEquals(waitsOn(work), [submitted]);
  assertEquals(last.work.over, true);
});

Deno.test("what a fence's own code has seen over is asked nothing more: it was let go of", () => {
  const work = new Work();
  const misused = FakeFence.misused;
  const [ours, foreign] = [onDevice(), new FakeFence(new FakeWork())];
  work.record(ours);
  work.addUnordered(foreign);
  const fence = new Doing(() => {
    for (const each of [ours, foreign]) each.work.end();
    work.sweep();
  });
  assertEquals(waitsOn(work, [fence]), []);
  assertEquals(FakeFence.misused, misused);
});

Deno.test("a fence that is not reached after it was waited for is not waited for again", () => {
  const work = new Work();
  let waits = 0;
  class Never extends FakeFence {
    override waitSync(): void {
      waits++;
    }
  }
  work.addUnordered(new Never(new FakeWork()));
  assertEquals(waitsOn(work), []);
  assertEquals(waits, 1);
});
