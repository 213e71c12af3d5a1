import { assertEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, DisposedError } from "../../src/core/errors.ts";
import { Frame } from "../../src/core/tensors/frame.ts";
import { imageInfo } from "../../src/core/layout/frame_info.ts";
import { host } from "../../src/host/context.ts";
import { withEmptyLedger } from "./ledger.ts";

const info = imageInfo({ format: "NV12", width: 4, height: 2 });
const luma = () => host.allocate({ shape: [2, 4], dtype: "u8" });
const chroma = () => host.allocate({ shape: [1, 2, 2], dtype: "u8" });

Deno.test(
  "a frame of tensors takes them over, and needs at least one",
  withEmptyLedger(() => {
    const planes = [luma(), chroma()];
    const frame = Frame.of(planes, info);
    assertEquals(frame.grants.length, 2);
    frame[Symbol.dispose]();
    assertThrows(() => planes[1].view(), DisposedError, "was disposed with frame of");
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
