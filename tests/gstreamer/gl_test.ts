/** OpenGL's memory of a pipeline as pictures of OpenGL ES: the same textures, once GStreamer's work on them is over. */
import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { ArgumentError, type Frame, host, imageInfo, ledger, MapperGraph, NativeCallError } from "@samepage/interop";
import { EglContext, type EglTensor } from "@samepage/interop/egl";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import type { Address } from "../../ffi/address.ts";
import { gst, gstGl } from "../../src/gstreamer/library.ts";
import { pluginVersion } from "../../src/doctor/gstreamer/plugins.ts";
import { assertAlive } from "../alive.ts";
import { missing as missingEgl } from "../egl/help.ts";
import { sweep } from "../faults/sweep.ts";
import { installTap } from "../faults/tap.ts";
import { CBuffer, Lent, memory } from "./buffers.ts";
import { missing } from "./open.ts";
import { sampleOf } from "./samples.ts";

installTap();

const lacks = missing ?? missingEgl() ?? (pluginVersion("opengl") === undefined ? "gstreamer1.0-gl" : undefined);
const [WIDTH, HEIGHT] = [64, 32];

interface There {
  readonly egl: EglContext;
  readonly gstreamer: GStreamerContext;
}

function test(name: string, fn: (there: There) => unknown): void {
  Deno.test({
    name: `OpenGL: ${name}${lacks === undefined ? "" : ` (not here: ${lacks})`}`,
    ignore: lacks !== undefined,
    async fn() {
      EglContext.open()[Symbol.dispose]();
      const { alive } = ledger;
      {
        using egl = EglContext.open({ sharable: true });
        using gstreamer = GStreamerContext.openSync({ on: egl });
        await fn({ egl, gstreamer });
      }
      await assertAlive(alive, "alive after the test");
    },
  });
}

const described = (format: string, more = "pattern=snow num-buffers=8") =>
  `gltestsrc ${more} ! glcolorconvert ! ` +
  `video/x-raw(memory:GLMemory),format=${format},width=${WIDTH},height=${HEIGHT} ! appsink name=out sync=false`;

/** The pixels of a plane, as OpenGL ES of samepage's reads them. */
function drawn({ queue }: EglContext, plane: EglTensor): Uint8Array {
  const seen = new Uint8Array(plane.layout.byteLength);
  queue.read(plane, seen);
  return seen;
}

for (const format of ["RGBA", "NV12", "I420", "GRAY8"]) {
  test(`a loop over a sink has pictures of ${format} whose textures are finished`, async ({ egl, gstreamer }) => {
    await using pipeline = gstreamer.launch(described(format));
    let frames = 0;
    for await (using frame of pipeline.sink("out")) {
      assertEquals([frame.target, frame.info.format, frame.access], [egl.image, format, "read"]);
      assertEquals(frame.info.media!.pts! > 0n, frames++ > 0);
      const seen = frame.planes.map((plane) => drawn(egl, plane as EglTensor));
      const twice = frame.planes.map((plane) => drawn(egl, plane as EglTensor));
      assertEquals(seen, twice);
      if (frames > 1) assertEquals(new Set(seen[0]).size > 20, true, "snow");
    }
    assertEquals(frames, 8);
  });
}

test("what the CPU gets of GStreamer's is what the picture shows, and what the picture is given", async ({ egl, gstreamer }) => {
  const { pipeline, sample, buffer } = await sampleOf(gstreamer, described("RGBA"));
  await using _pipeline = pipeline;
  {
    using _sample = sample;
    const its = new Lent(buffer); // the sample's reference
    using frame = gstreamer.attach(sample.address) as Frame<EglTensor>;
    assertEquals([frame.target, frame.access], [egl.image, "read-write"]);
    egl.queue.fill(frame.planes[0], [0, 1, 0, 1]);
    frame[Symbol.dispose]();
    const pixels = new Uint8Array(its.bytes().buffer);
    assertEquals([[...pixels.subarray(0, 4)], [...pixels.subarray(-4)]], [[0, 255, 0, 255], [0, 255, 0, 255]]);
    using again = gstreamer.attach(sample.address) as Frame<EglTensor>;
    assertEquals(drawn(egl, again.planes[0]), pixels);
  }
});

test("a picture goes on in the graph, and lives on after its pipeline", async ({ egl, gstreamer }) => {
  using graph = new MapperGraph([host, egl, gstreamer]);
  let frame: Frame | undefined;
  {
    await using pipeline = gstreamer.launch(described("RGBA", "pattern=red num-buffers=1"));
    for await (const one of pipeline.sink("out")) frame = one;
  }
  using picture = frame!;
  using copy = graph.map(picture, host, { access: "read", copy: "allow" }) as Frame;
  assertEquals([...(copy.planes[0] as never as { bytes(): Uint8Array }).bytes().subarray(0, 4)], [255, 0, 0, 255]);
});

test("other memory of the same context is the host's", async ({ gstreamer }) => {
  using made = new CBuffer(memory(24));
  using frame = gstreamer.attach(made.address, { caps: "video/x-raw,format=NV12,width=4,height=4" });
  assertEquals(frame.target.context, gstreamer);
  await using pipeline = gstreamer.launch("videotestsrc num-buffers=1 ! appsink name=out");
  for await (using one of pipeline.sink("out")) assertEquals(one.target.context, gstreamer);
});

test("textures go up from the host's memory, and down to it", async ({ egl, gstreamer }) => {
  await using up = gstreamer.launch(
    "videotestsrc num-buffers=2 pattern=blue ! video/x-raw,format=RGBA,width=64,height=32 ! glupload ! appsink name=out",
  );
  for await (using frame of up.sink("out")) {
    assertEquals([...drawn(egl, frame.planes[0] as EglTensor).subarray(0, 4)], [0, 0, 255, 255]);
  }
  await using down = gstreamer.launch(
    described("RGBA", "num-buffers=2").replace("! appsink", "! gldownload ! video/x-raw ! appsink"),
  );
  for await (using one of down.sink("out")) assertEquals(one.target.context, gstreamer);
});

test("a context that reports resets is refused, with what to open", () => {
  using egl = EglContext.open();
  const error = assertThrows(() => GStreamerContext.openSync({ on: egl }), NativeCallError, "EGL_BAD_MATCH");
  assertEquals([error.fn, error.hint], [
    "gst_gl_context_create",
    "Open it to be shared: EglContext.open({ sharable: true }).",
  ]);
});

test("textures of another OpenGL, and memory of OpenGL without one, are refused", async ({ gstreamer }) => {
  using other = EglContext.open({ sharable: true });
  using theirs = GStreamerContext.openSync({ on: other });
  using plain = GStreamerContext.openSync();
  const { pipeline, sample } = await sampleOf(theirs, described("RGBA"));
  await using _pipeline = pipeline;
  using _sample = sample;
  const error = assertThrows(() => gstreamer.attach(sample.address), ArgumentError, "another OpenGL");
  assertEquals(error.hint, "Launch the pipeline by this context: gstreamer.launch().");
  assertThrows(() => plain.attach(sample.address), ArgumentError, "in a texture of OpenGL's");
  assertThrows(() => gstreamer.attachBytes(sample.address), ArgumentError, "in a texture of OpenGL's");
  assertEquals(sample.references, 1);
});

const EXCHANGED = "with red and blue exchanged";

test("pictures whose pixels GStreamer keeps in another order are refused, both ways", async ({ egl, gstreamer }) => {
  await using pipeline = gstreamer.launch(described("BGRA"));
  const taking = async () => {
    for await (using _ of pipeline.sink("out"));
  };
  const error = await assertRejects(taking, ArgumentError, EXCHANGED);
  assertStringIncludes(error.hint!, "glcolorconvert ! video/x-raw(memory:GLMemory),format=RGBA");
  using picture = egl.image.allocate({ format: "BGRA", width: WIDTH, height: HEIGHT });
  assertThrows(() => gstreamer.buffer(picture), ArgumentError, EXCHANGED);
});

for (const format of ["RGBA", "NV12", "I420", "GRAY8"] as const) {
  test(`a stream takes pictures of ${format}, whose textures elements read`, async ({ egl, gstreamer }) => {
    const path = await Deno.makeTempFile();
    {
      await using pipeline = gstreamer.launch(`appsrc name=in ! gldownload ! filesink location=${path}`);
      const writer = pipeline.source("in", imageInfo({ format, width: WIDTH, height: HEIGHT })).getWriter();
      const written: number[] = [];
      for (let i = 0; i < 3; i++) {
        using picture = egl.image.allocate({ format, width: WIDTH, height: HEIGHT });
        for (const plane of picture.planes as readonly EglTensor[]) {
          const noise = crypto.getRandomValues(new Uint8Array(plane.layout.byteLength));
          egl.queue.write(plane, noise);
          written.push(...noise);
        }
        await writer.write(picture as Frame);
      }
      await writer.close();
      assertEquals(await pipeline.ended(), true);
      assertEquals([...await Deno.readFile(path)], written);
    }
    await Deno.remove(path);
  });
}

test("textures of elements' own come of pictures that are written", async ({ egl, gstreamer }) => {
  await using pipeline = gstreamer.launch("appsrc name=in ! gleffects_identity ! appsink name=out sync=false");
  const writer = pipeline.source("in", imageInfo({ format: "RGBA", width: WIDTH, height: HEIGHT })).getWriter();
  using picture = egl.image.allocate({ format: "RGBA", width: WIDTH, height: HEIGHT });
  egl.queue.fill(picture.planes[0] as EglTensor, [1, 0, 1, 1]);
  const writing = writer.write(picture as Frame).then(() => writer.close());
  for await (using frame of pipeline.sink("out")) {
    assertEquals(frame.target, egl.image);
    assertEquals([...drawn(egl, frame.planes[0] as EglTensor).subarray(-4)], [255, 0, 255, 255]);
  }
  await writing;
});

test("a picture that elements send on comes back as the same texture", async ({ egl, gstreamer }) => {
  await using pipeline = gstreamer.launch("appsrc name=in ! identity ! appsink name=out sync=false");
  const writer = pipeline.source("in", imageInfo({ format: "RGBA", width: WIDTH, height: HEIGHT })).getWriter();
  const picture = egl.image.allocate({ format: "RGBA", width: WIDTH, height: HEIGHT });
  const name = (frame: Frame) => (frame.planes[0] as EglTensor).rawHandle.name;
  egl.queue.fill(picture.planes[0] as EglTensor, [1, 0, 1, 1]);
  await writer.write(picture as Frame);
  const ended = picture[Symbol.asyncDispose]();
  for await (using frame of pipeline.sink("out")) {
    assertEquals([frame.target, name(frame)], [egl.image, name(picture)]);
    assertEquals([...drawn(egl, frame.planes[0] as EglTensor).subarray(-4)], [255, 0, 255, 255]);
    break;
  }
  await pipeline.stop();
  await ended;
});

test("buffer() has a picture's own texture, which is in use until GStreamer lets go", async ({ egl, gstreamer }) => {
  const picture = egl.image.allocate({ format: "RGBA", width: WIDTH, height: HEIGHT });
  const buffer = gstreamer.buffer(picture);
  const name = gstGl().gst_gl_memory_get_texture_id(gst().gst_buffer_peek_memory(buffer, 0));
  assertEquals(name, (picture.planes[0] as EglTensor).rawHandle.name);
  assertThrows(() => gstreamer.attach(buffer), ArgumentError, "over a tensor's memory");
  let isOver = false;
  const ending = picture[Symbol.asyncDispose]().then(() => isOver = true);
  await new Promise((resolve) => setTimeout(resolve, 5));
  assertEquals(isOver, false);
  gst().gst_mini_object_unref(buffer);
  await ending;
});

/** Questions that are asked again, or are reported by the command's own name. */
const SILENT = ["gles.glGetError", "egl.eglMakeCurrent", "egl.eglCreateSync"];

test("every native call of sharing OpenGL, and of taking a texture, fails once", async ({ egl, gstreamer }) => {
  const open = () => GStreamerContext.openSync({ on: egl })[Symbol.dispose]();
  open();
  const calls = (await sweep(open, () => {}, SILENT)).map(({ call }) => call);
  const { pipeline, sample } = await sampleOf(gstreamer, described("NV12"));
  await using _pipeline = pipeline;
  using _sample = sample;
  const attach = () => gstreamer.attach(sample.address as Address)[Symbol.dispose]();
  attach();
  calls.push(...(await sweep(attach, () => assertEquals(sample.references, 1), SILENT)).map(({ call }) => call));
  using picture = egl.image.allocate({ format: "NV12", width: WIDTH, height: HEIGHT });
  const lend = () => gst().gst_mini_object_unref(gstreamer.buffer(picture));
  lend();
  calls.push(...(await sweep(lend, () => {}, SILENT)).map(({ call }) => call));
  for (
    const fn of [
      "video_allocation_params_new_wrapped_texture",
      "base_memory_alloc",
      "context_create",
      "context_new",
      "display_add_context",
      "context_can_share",
    ]
  ) {
    assertEquals(calls.includes(`gstreamer_gl.gst_gl_${fn}`), true, fn);
  }
});
