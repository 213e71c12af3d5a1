// OpenCV's own OpenCL context, and UMats that OpenCV itself made in it. Prints what it found, as JSON.

import { host, ledger, MapperGraph } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { OpenCVContext } from "@samepage/interop/opencv";
import { UMat } from "../../../ffi/opencv_core/structs.ts";
import { addressOf } from "../../../src/core/native/pin.ts";
import { core } from "../../../src/opencv/library.ts";
import { umatIn } from "../../../src/opencv/header.ts";
import { dataAt } from "../help.ts";

const seen: Record<string, unknown> = {};
const bytes = new DataView(new ArrayBuffer(UMat.size));
const theirs = addressOf(bytes, "opencv");
core().UMat_construct(theirs, 0);
core().UMat_create(theirs, 2, Int32Array.of(40, 50), 16, 0);
const { u } = umatIn(bytes, 0);
{
  using cv = OpenCVContext.open();
  using cl = OpenCLContext.attach(cv.openCLContext!);
  using other = OpenCLContext.create(cl.devices);
  using graph = new MapperGraph([host, cl, other, cv]);
  {
    using umat = cv.umat.attach(theirs);
    using again = cv.umat.attach(Deno.UnsafePointer.create(theirs)!);
    seen.owners = dataAt(u).urefcount;
    seen.type = umat.type;
    seen.shape = umat.layout.shape;
    {
      using buffer = graph.map(umat, cl);
      try {
        void again.handle;
        seen.again = "not judged";
      } catch (error) {
        seen.again = (error as Error).name;
      }
      cl.queue.fill(buffer, 7);
      seen.mem = (buffer.rawHandle as bigint) === dataAt(u).handle;
      using peer = cl.attach(dataAt(u).handle, umat.layout);
      try {
        void peer.handle;
        seen.peer = "not judged";
      } catch (error) {
        seen.peer = (error as Error).name;
      }
    }
    cv.bitwise_not(umat, umat);
    using onHost = graph.map(umat, host);
    seen.route = onHost.route.steps.map(({ edge, transfer }) => `${edge} ${transfer}`);
    seen.pixels = [...new Set(onHost.bytes())];
  }
  seen.ownersAfter = dataAt(u).urefcount;
  {
    using umat = cv.umat.attach(theirs);
    using buffer = cl.allocate({ shape: [40, 50, 3], dtype: "u8" });
    using mapped = graph.map(buffer, cv.umat);
    cv.copyTo(umat, mapped); // both of one cl_context, one of them OpenCV's own
    try {
      new MapperGraph([other, cv]).map(umat, other);
    } catch (error) {
      seen.foreign = (error as Error).name;
    }
  }
}
core().UMat_destruct(theirs);
seen.alive = ledger.alive;
console.log(JSON.stringify(seen));
