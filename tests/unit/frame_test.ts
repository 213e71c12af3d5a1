import { assert, assertEquals, assertMatch, assertStrictEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, DisposedError, InteropError } from "../../src/core/errors.ts";
import type { Usable } from "../../src/core/device/line.ts";
import { Frame } from "../../src/core/tensors/frame.ts";
import { imageInfo } from "../../src/core/layout/frame_info.ts";
import { host } from "../../src/host/context.ts";
import { Resource } from "../../src/core/life/resource.ts";
import { until } from "../conformance/bytes.ts";
import { collect } from "../gc.ts";
import { command, fakes, FakeWork } from "./fakes.ts";
import { warningsOf, withEmptyLedger } from "./ledger.ts";

const info = imageInfo({ format: "NV12", width: 4, height: 2 });
const luma = () => host.allocate({ shape: [2, 4], dtype: "u8" });
const moment = () => new Promise((resolve) => setTimeout(resolve, 5));
const chroma = () => host.allocate({ shape: [1, 2, 2], dtype: "u8" });

Deno.test(
  "a frame of tensors takes them over, and needs at least one",
  withEmptyLedger(() => {
    const planes = [luma(), chroma()];
    const frame = Frame.of(planes, info);
    assertEquals(frame.grants.length, 2);
    frame[Symbol.dispose]();
    assertThrows(() => planes[1].view(), DisposedError, "was disposed with host frame NV12 4 × 2.");
    assertThrows(() => Frame.of(planes, info), DisposedError);
    assertEquals(assertThrows(() => Frame.of([], info), ArgumentError).argument, "planes");
  }),
);

Deno.test(
  "a frame may be used for what all its planes may be used for",
  withEmptyLedger(() => {
    using whole = chroma();
    using frame = Frame.of([luma(), whole.borrow("read")], info);
    assertEquals(frame.access, "read");
    using lent = frame.borrow("read");
    assertEquals(lent.planes.map((plane) => plane.access), ["read", "read"]);
    assertThrows(() => frame.borrow("read-write"), AccessError);
  }),
);

Deno.test(
  "usable() refuses a frame of tensors of which one is on its way to its end",
  withEmptyLedger(async () => {
    const work = new FakeWork("gated");
    const frame = Frame.of([luma(), chroma()], info);
    frame.planes[1].disposeAfter(work.fence);
    assertEquals(frame.planes[1].resource.state, "returning");
    assertThrows(() => frame.usable("read"), DisposedError, "was disposed");
    work.end();
    await frame[Symbol.asyncDispose]();
  }),
);

Deno.test(
  "a borrowed frame ends with the frame that lent it",
  withEmptyLedger(() => {
    const frame = Frame.of([luma(), chroma()], info);
    const lent = frame.borrow("read-write");
    assertThrows(() => frame.planes[0].view(), AccessError);
    frame[Symbol.dispose]();
    assertThrows(() => lent.borrow("read"), DisposedError, "was disposed");
    assertEquals(lent.resource.state, "freed");
  }),
);

Deno.test(
  "a borrow that fails at the second plane lends nothing",
  withEmptyLedger(() => {
    using frame = Frame.of([luma(), chroma()], info);
    using taken = frame.planes[1].borrow("read-write");
    assertThrows(() => frame.borrow("read"), AccessError);
    taken[Symbol.dispose]();
    assertEquals(frame.planes[0].grant.state, "live");
    frame.borrow("read-write")[Symbol.dispose]();
  }),
);

Deno.test(
  "work declared on a frame of planes is waited for by each of them, and by the frame",
  withEmptyLedger(async () => {
    for (const how of ["dispose", "asyncDispose", "disposeAfter"] as const) {
      const work = new FakeWork("gated");
      const frame = Frame.of([luma(), chroma()], info);
      const states = () => frame.planes.map(({ resource }) => resource.state);
      frame[how === "disposeAfter" ? how : "usedBy"](work.fence);
      if (how === "dispose") assertThrows(() => frame[Symbol.dispose](), AccessError, "could never end");
      const ended = how === "asyncDispose" ? frame[Symbol.asyncDispose]() : undefined;
      await moment();
      assertEquals(states().includes("freed"), false, how);
      work.end();
      await ended;
      assert(await until(() => states().every((state) => state === "freed")), `${how}: ${states()}`);
    }
  }),
);

Deno.test(
  "a plane that is disposed by itself waits for the work on its frame",
  withEmptyLedger(async () => {
    const work = new FakeWork("gated");
    using frame = Frame.of([luma(), chroma()], info);
    frame.usedBy(work.fence);
    const plane = frame.planes[0];
    const ended = plane[Symbol.asyncDispose]();
    await moment();
    assertEquals(plane.resource.state, "returning");
    assertThrows(() => frame.usedBy(work.fence), DisposedError, plane.name);
    work.end();
    await ended;
  }),
);

Deno.test(
  "a failure of the work on a frame is told once by all that uses its planes together",
  withEmptyLedger(async () => {
    const failure = new InteropError("the kernel failed");
    using whole = Frame.of([luma(), chroma()], info);
    const lent = whole.borrow("read-write");
    const work = new FakeWork("device", failure);
    lent.disposeAfter(work.fence);
    const warnings = await warningsOf(async () => {
      work.end();
      assert(await until(() => lent.planes.every(({ resource }) => resource.state === "freed")));
    });
    assertEquals(warnings, []);
    assertStrictEquals(assertThrows(() => whole.raiseKept()), failure);
    whole.raiseKept();
    const other = Frame.of([luma(), chroma()], info);
    other.usedBy(work.fence);
    assertStrictEquals(assertThrows(() => other[Symbol.dispose]()), failure);
  }),
);

Deno.test(
  "finished() of a frame waits for its planes, and beside work that is over",
  withEmptyLedger(async () => {
    using frame = Frame.of([luma(), chroma()], info);
    const [over, flight] = [new FakeWork(), new FakeWork("gated")];
    over.end();
    for (const work of [over, flight]) frame.planes[1].resource.usedBy(work.fence);
    let finished = false;
    const waited = frame.finished().then(() => finished = true);
    await moment();
    assertEquals(finished, false);
    flight.end();
    await waited;
  }),
);

Deno.test(
  "a command on a frame waits for the work on its planes, and one on a plane for that on its frame",
  withEmptyLedger(() => {
    using frame = host.allocateFrame(info);
    const [one, two, three] = [fakes.line(), fakes.line(), fakes.line()];
    const use = (tensor: Usable) => [{ tensor, access: "read-write" as const, argument: "tensor" }];
    one.submit(use(frame.planes[1]), command(() => {}));
    two.submit(use(frame), command(() => {}));
    three.submit(use(frame.planes[0]), command(() => {}));
    assertEquals([two.lane.waitsInFlight, three.lane.waitsInFlight], [[1], [1]]);
    three.lane.driveTo(1);
  }),
);

Deno.test(
  "frames that are disposed leave nothing to the finalizers, and their planes neither",
  withEmptyLedger(async () => {
    await collect(); // what the tests before have left
    const { finalize } = Resource.prototype;
    const finalized: string[] = [];
    Resource.prototype.finalize = function (this: Resource) {
      finalized.push(this.name);
    };
    try {
      for (let i = 0; i < 100; i++) {
        const frame = i % 2 === 0 ? host.allocateFrame(info) : Frame.of([luma(), chroma()], info);
        await Promise.resolve(); // in the next job, finalizers know it
        frame[Symbol.dispose]();
      }
      await collect();
    } finally {
      Resource.prototype.finalize = finalize;
    }
    assertEquals(finalized, []);
  }),
);

Deno.test(
  "a frame that is forgotten is named, and its planes end with it",
  withEmptyLedger(async () => {
    const warnings = await warningsOf(async () => {
      (() => void host.allocateFrame(info))();
      await collect();
    });
    assertEquals(warnings.length, 1);
    assertMatch(warnings[0], /host frame NV12 4 × 2 was never disposed/);
  }),
);

Deno.test(
  "a forgotten frame whose planes have all been disposed is not a reason to warn",
  withEmptyLedger(async () => {
    const warnings = await warningsOf(async () => {
      (() => {
        const plane = host.allocate({ shape: [4, 4], dtype: "u8" });
        Frame.of([plane], imageInfo({ format: "GRAY8", width: 4, height: 4 }));
        plane[Symbol.dispose]();
      })();
      await collect();
    });
    assertEquals(warnings, []);
  }),
);

Deno.test(
  "regions has the detections in pixels, each with what the metadata says of that object",
  withEmptyLedger(() => {
    using frame = host.allocateFrame(imageInfo({ format: "GRAY8", width: 30, height: 20 }));
    const { metadata } = frame;
    metadata.add("detection", { xMin: 0.1, yMin: 0.2, xMax: 0.4, yMax: 1, label: "cat", id: 1 });
    metadata.add("detection", { xMin: 0, yMin: 0, xMax: 1, yMax: 1 });
    metadata.add("classification", { label: "black", objectId: 1 });
    metadata.add("classification", { label: "night" });
    metadata.add("inferenceResult", { modelName: "net", objectId: 1 });
    metadata.add("objectId", { id: 42, objectId: 1 });
    const [cat, all, ...others] = frame.regions;
    assertEquals([cat.x, cat.y, cat.width, cat.height], [3, 4, 9, 16]);
    assertEquals([cat.detection.label, cat.objectId], ["cat", 42]);
    assertEquals(cat.classifications.map(({ label }) => label), ["black"]);
    assertEquals(cat.results.map(({ modelName }) => modelName), ["net"]);
    assertEquals([all.width, all.height, all.classifications, others], [30, 20, [], []]);
  }),
);

Deno.test(
  "planes: a plane that was only looked at ends with its frame, by its own name",
  withEmptyLedger(() => {
    const frame = host.allocateFrame(info);
    const [first, second] = frame.planes;
    assertEquals([first.access, second.handle, second.address - first.address], ["read-write", first.handle, 8n]);
    const [{ start, end }] = frame.grants;
    const lent = frame.grants[0].lend("write", start, end, "another holder");
    assertThrows(() => second.handle, AccessError, "plane 1 of host frame NV12 4 × 2 cannot be used");
    lent.finish();
    assertEquals(second.handle, first.handle);
    frame[Symbol.dispose]();
    assertThrows(
      () => first.handle,
      DisposedError,
      "plane 0 of host frame NV12 4 × 2 was disposed with host frame NV12 4 × 2",
    );
    assertThrows(() => second.view(), DisposedError, "plane 1 of host frame NV12 4 × 2 was disposed");
    second[Symbol.dispose]();
  }),
);

Deno.test(
  "planes: a plane ends alone, lends alone, and has work of its own",
  withEmptyLedger(async () => {
    using frame = host.allocateFrame(info);
    const [first, second] = frame.planes;
    first[Symbol.dispose]();
    assertThrows(() => first.handle, DisposedError, "plane 0 of host frame NV12 4 × 2 was disposed");
    const part = second.borrow("read-write");
    assertThrows(() => frame.borrow("read"), AccessError);
    assertThrows(() => second.handle, AccessError);
    part[Symbol.dispose]();
    const { promise, resolve } = Promise.withResolvers<void>();
    second.usedBy(host.signal(promise));
    assertEquals(frame.work.length, 1);
    resolve();
    await frame.finished();
    assertEquals(frame.work.length, 0);
  }),
);
