// The commands by which a driver hands memory over, and takes it: they are work like any other.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { ledger } from "@samepage/interop";
import type { Imported, MemoryTarget } from "../../src/core/device/memory.ts";
import { Port } from "../../src/core/device/port.ts";
import type { Context, Target } from "../../src/core/graph/context.ts";
import { imageInfo } from "../../src/core/layout/frame_info.ts";
import { Resource } from "../../src/core/life/resource.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import { allocateFrame } from "../../src/core/tensors/over.ts";
import { type Part, Tensor, type TensorInit } from "../../src/core/tensors/tensor.ts";
import { until } from "../conformance/bytes.ts";
import { command, FakeDriver } from "../unit/fakes.ts";
import { withEnds } from "./help.ts";
import * as raw from "./raw.ts";

class Made extends Tensor<number> {
  protected derive({ name, grant, layout }: Part): Made {
    const resource = new Resource({ name, grants: [grant], owners: [this.resource] });
    return new Made({ target: this.target, handle: 1, layout, resource, parent: this });
  }
}

/** A device whose memory is memfds, and which has a command for each way. */
class Device implements Context, MemoryTarget {
  readonly api = "fake";
  readonly kind = "fake";
  readonly name = "a fake device";
  readonly id = {};
  readonly context = this;
  readonly targets: Target[] = [this];
  readonly resource = new Resource({ name: "a fake device" });
  readonly line = new FakeDriver().line();
  readonly freed: string[] = [];
  /** Set: tensors over what comes cannot be made. */
  broken: Error | undefined;

  readonly is = (value: unknown): value is Made => value instanceof Made;

  readonly ports: MemoryTarget["ports"] = {
    line: this.line,
    exports: [{ kind: "memfd" }],
    imports: [{ kind: "memfd" }],
    allocate: () => ({ handle: 1, release: () => void this.freed.push("allocated") }),
    export: (_tensor, kind, byteLength) => ({
      port: new Port(kind, { fd: raw.memfd(byteLength), byteLength }),
      begin: () => command(() => {}),
    }),
    import: (port: Port): Imported<number> => {
      closeFd(port.takeFd());
      return {
        handle: 2,
        begin: () => command(() => {}),
        end: () => command(() => {}),
        release: () => void this.freed.push("imported"),
      };
    },
    tensor: (init: TensorInit<number>) => {
      if (this.broken !== undefined) throw this.broken;
      return new Made(init);
    },
  };

  [Symbol.dispose](): void {
    this.resource.dispose();
  }
}

const NV12 = imageInfo({ format: "NV12", width: 64, height: 64 });

Deno.test("channel: the command that hands memory over is work on all planes, and is waited for before they are freed", async () => {
  const device = new Device();
  await withEnds(async ({ one }) => {
    const frame = allocateFrame(device, NV12);
    const sending = one.send(frame);
    await until(() => device.line.lane.submitted === 1);
    assertEquals(frame.planes.map(({ resource }) => resource.busy), [true, true]);
    const ending = frame[Symbol.asyncDispose]();
    assertEquals(device.freed, []);
    device.line.lane.run();
    await Promise.all([sending, ending]);
    assertEquals(device.freed, ["allocated"]);
  });
});

Deno.test("channel: what no tensor can be made of is given back", async () => {
  const device = new Device();
  const before = ledger.alive;
  await withEnds(async ({ one, other }) => {
    using frame = allocateFrame(device, NV12);
    const sending = one.send(frame);
    await until(() => device.line.lane.submitted === 1);
    device.line.lane.run();
    await sending;
    device.broken = new Error("no tensor");
    assert(await assertRejects(() => other.receive()) === device.broken);
    assertEquals(device.freed, ["imported"]);
  }, { contexts: [device] });
  assertEquals(ledger.alive, before);
});
