import {
  AccessError,
  ArgumentError,
  DisposedError,
  Frame,
  type FrameInfo,
  host,
  imageInfo,
  layout,
  ledger,
  MapperGraph,
  NativeCallError,
} from "@samepage/interop";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { OpenCLContext } from "@samepage/interop/opencl";
import { caps, CBuffer, listOf, locked, memory, Owned, write } from "../../gstreamer/buffers.ts";
import { any, say } from "../kit.ts";
import { type Failure, failuresOf, ofCore, type Row, table } from "../row.ts";

const NV12 = imageInfo({ format: "NV12", width: 4, height: 4 });
const CAPS = "video/x-raw,format=NV12,width=4,height=4";
const PLANE = { dtype: "u8", elements: 1, step: 1, rows: 1 } as const;

/** The memory of a flag that GStreamer has set is freed soon, and not at once. */
async function settled(): Promise<void> {
  for (let i = 0; i < 30_000 && ledger.alive["native.flag"] !== undefined; i++) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** A row with a context, and a buffer of the program's own. */
function row(use: (there: { gst: GStreamerContext; made: CBuffer }) => unknown, fails?: Failure): Row {
  return {
    async run() {
      try {
        using gst = await GStreamerContext.open();
        using made = new CBuffer(memory(24));
        await use({ gst, made });
      } finally {
        await settled();
      }
    },
    ...(fails === undefined ? {} : { fails }),
  };
}

/** The same with a frame of the host's that is mapped to GStreamer. */
function mappedRow(info: FrameInfo, use: (gst: GStreamerContext, mapped: Frame) => unknown, fails?: Failure): Row {
  return row(async ({ gst }) => {
    using graph = new MapperGraph([host, gst]);
    using picture = host.allocateFrame(info);
    await using mapped = graph.map(picture, gst);
    await use(gst, mapped);
  }, fails);
}

/** Attaching the buffer as what these caps say. */
const as = (text: unknown, fails: Failure): Row =>
  row(({ gst, made }) => gst.attach(made.address, { caps: any(text) }), fails);

/** Attaching it once something was done to it. */
const after = (change: (made: CBuffer) => void, fails: Failure): Row =>
  row(({ gst, made }) => {
    change(made);
    gst.attach(made.address, { caps: CAPS });
  }, fails);

const { wrong, unfit } = failuresOf("gstreamer");
const notWritable: Failure = {
  ...{ error: AccessError, api: "gstreamer", fn: "gst_buffer_is_all_memory_writable", argument: "access" },
  ...{ message: /others refer to/, hint: /copy: "allow"/ },
};

export default table(import.meta, {
  "a pointer that is null": row(({ gst }) => gst.attach(0n), wrong("pointer", /expected a handle, got null/)),
  "a pointer that is a number": row(
    ({ gst }) => gst.attach(any(4096)),
    wrong("pointer", /expected a bigint, got a number/),
  ),
  "a pointer to no memory": row(
    ({ gst }) => gst.attach(4096n),
    wrong("pointer", /cannot be read/, /still there/, "process_vm_readv"),
  ),
  "a pointer to other memory": row(({ gst }) => {
    using bytes = host.allocate({ shape: [4096], dtype: "u8" });
    gst.attach(bytes.address);
  }, wrong("pointer", /expected the address of a GstBuffer or a GstSample/)),
  "caps in place of a buffer": row(({ gst }) => {
    using its = caps(CAPS);
    gst.attachBytes(its.address);
  }, wrong("pointer", /expected the address of a GstBuffer or a GstSample/)),
  "a buffer that was freed": row(({ gst }) => {
    const freed = new CBuffer(memory(24));
    using kept = freed.again();
    write(freed.address, "refcount", 0); // as the last unref leaves it, in memory that is kept
    try {
      gst.attach(freed.address, { caps: CAPS });
    } finally {
      write(freed.address, "refcount", 2);
      freed[Symbol.dispose]();
    }
    void kept;
  }, wrong("pointer", /its GstBuffer was freed/, /last unref/)),
  "a buffer without memory": row(({ gst }) => {
    using empty = new CBuffer();
    gst.attach(empty.address, { caps: CAPS });
  }, wrong("pointer", /has no memory/)),
  "a sample without a buffer": row(({ gst, made }) => {
    using empty = made.sample(CAPS, false);
    gst.attach(empty.address);
  }, wrong("pointer", /GstSample has no buffer/, undefined, "gst_sample_get_buffer")),
  "a buffer of which nothing is said": row(
    ({ gst, made }) => gst.attach(made.address),
    wrong("caps", /there are none, and its GstBuffer has no GstVideoMeta/, /attachBytes/),
  ),
  "a buffer of encoded pictures": as("video/x-h264", wrong("caps", /they are video\/x-h264/, /attachBytes/)),
  "caps that are neither text nor an address": as(7, wrong("caps", /expected a bigint, got a number/)),
  "caps that GStreamer cannot read": as(
    "video/x-raw,,",
    wrong("caps", /reads no caps/, /NV12/, "gst_caps_from_string"),
  ),
  "caps that leave a choice": as(
    "video/x-raw,format={NV12,I420},width=4,height=4",
    wrong("caps", /leave a choice/, /pad/),
  ),
  "caps without a size": as(
    "video/x-raw,format=NV12",
    wrong("caps", /cannot read them/, /size/, "gst_video_info_from_caps"),
  ),
  "caps of every other row": as(
    CAPS.replace("x-raw", "x-raw(format:Interlaced)") + ",interlace-mode=alternate",
    wrong("caps", /every other row/, /deinterlace/),
  ),
  "caps of tiles": as(CAPS.replace("NV12", "NV12_64Z32"), wrong("caps", /lie in tiles/, /videoconvert/)),
  "sound of 24 bits": as(
    "audio/x-raw,format=S24LE,rate=8000,channels=1,layout=interleaved",
    wrong("caps", /samples are S24LE/, /audioconvert/),
  ),
  "sound with a plane a channel, and no meta": as(
    "audio/x-raw,format=S16LE,rate=8000,channels=2,layout=non-interleaved",
    wrong("pointer", /no GstAudioMeta/),
  ),
  "caps with a zero inside": as(`${CAPS}\0`, wrong("caps", /has a zero inside/)),
  "caps of another's address": row(
    ({ gst, made }) => gst.attach(made.address, { caps: made.address }),
    wrong("caps", /expected the address of a GstCaps/),
  ),
  "caps of another format than the buffer's": after(
    (made) => made.addVideoMeta("I420", [4, 4], [0, 16, 20], [4, 2, 2]),
    wrong("caps", /they have NV12, and the GstVideoMeta of its buffer has I420/),
  ),
  "caps of more bytes than there are": as(
    CAPS.replace("height=4", "height=8"),
    unfit("pointer", /it reaches to byte 32; the memory has 24/),
  ),
  "a stride that is too short": after(
    (made) => made.addVideoMeta("NV12", [4, 4], [0, 16], [2, 4]),
    unfit("pointer", /the stride of plane 0 of its GstBuffer is 2: a row has 4 bytes/),
  ),
  "rows that go upwards": after(
    (made) => made.addVideoMeta("NV12", [4, 4], [12, 16], [-4, 4]),
    unfit("pointer", /upwards in memory/),
  ),
  "a stride that reaches beyond the memory": after(
    (made) => made.addVideoMeta("NV12", [4, 4], [0, 16], [64, 4]),
    unfit("pointer", /it reaches to byte 196; the memory has 24/),
  ),
  "a plane that begins behind the memory": after(
    (made) => made.addVideoMeta("NV12", [4, 4], [0, 24], [4, 4]),
    unfit("pointer", /plane 1 begins at byte 24, and its GstBuffer has 24/),
  ),
  "a crop of more than there is": after(
    (made) => made.addCrop(2, 0, 4, 4),
    unfit("pointer", /shows 4 × 4 from 2, 0 on, and there are 4 × 4 of NV12/),
  ),
  "a crop of nothing": after((made) => made.addCrop(2, 0, 0, 4), unfit("pointer", /shows 0 × 4/)),
  "bytes of a buffer in two memories": row(({ gst }) => {
    using two = new CBuffer(memory(4), memory(4));
    gst.attachBytes(two.address);
  }, unfit("pointer", /2 blocks of memory/, /as a frame/)),
  "a write of a buffer that others have": row(({ gst, made }) => {
    using _other = made.again();
    gst.attach(made.address, { caps: CAPS, access: "read-write" });
  }, notWritable),
  "a write of a buffer whose memory is read-only": row(({ gst }) => {
    using fixed = new CBuffer(locked(memory(24)));
    gst.attach(fixed.address, { caps: CAPS, access: "write" });
  }, notWritable),
  "a buffer of two writers": row(({ gst, made }) => {
    using _one = gst.attach(made.address, { caps: CAPS, access: "write" });
    gst.attach(made.address, { caps: CAPS, access: "write" });
  }, notWritable),
  "a read of what other code has mapped to write": row(({ gst, made }) => {
    using _mapping = made.writing();
    gst.attach(made.address, { caps: CAPS, access: "read" });
  }, {
    ...{ error: NativeCallError, api: "gstreamer", fn: "gst_memory_map", code: 0, codeName: "none" },
    ...{ message: /gst_memory_map failed/, hint: /other code/ },
  }),
  "a write through a map of a buffer that others have": row(({ gst, made }) => {
    using graph = new MapperGraph([host, gst]);
    using _other = made.again();
    using frame = gst.attach(made.address, { caps: CAPS });
    graph.map(frame, host, { access: "write" });
  }, ofCore(AccessError, /read/, { argument: "access", hint: /read-write/ })),
  "a copy that is true": row(
    ({ gst, made }) => gst.attach(made.address, { caps: CAPS, copy: any(true) }),
    wrong("copy", /expected one of "allow", got true/),
  ),
  "an option that is misspelt": row(
    ({ gst, made }) => gst.attach(made.address, any({ cap: CAPS })),
    ofCore(ArgumentError, /unknown property cap/, { argument: "options", hint: /access, after, owner, copy, caps/ }),
  ),
  "a buffer that is freed under its frame": {
    ...row(({ gst }) => {
      const made = new CBuffer(memory(24));
      using frame = gst.attach(made.address, { caps: CAPS });
      made[Symbol.dispose]();
      using graph = new MapperGraph([host, gst]);
      using mapped = graph.map(frame, host, { access: "read" });
      say(mapped.planes[1].view()[1], frame.handle === made.address);
    }),
    says: ["17 true"],
  },
  "a buffer of a context that has ended": row(({ made }) => {
    const gst = GStreamerContext.openSync();
    gst[Symbol.dispose]();
    gst.attach(made.address, { caps: CAPS });
  }, ofCore(DisposedError, /GStreamer .* was disposed/)),
  "a context of pictures that are not dma-bufs": {
    run() {
      using cl = OpenCLContext.open();
      GStreamerContext.openSync({ on: cl });
    },
    opencl: "Portable",
    fails: wrong("on", /not frames of .* \(opencl\)/, /dmabuf/),
  },
  "a host's frame handed over": row(({ gst }) => {
    using picture = host.allocateFrame(NV12);
    gst.buffer(any(picture));
  }, wrong("frame", /belongs to host, and not to GStreamer/, /Map it/)),
  "a tensor handed over": row(({ gst }) => {
    using tensor = host.allocate({ shape: [1], dtype: "u8" });
    gst.buffer(any(tensor));
  }, wrong("frame", /expected a Frame, got a HostTensor/, /Frame\.of/)),
  "a frame handed over after its end": mappedRow(NV12, async (gst, mapped) => {
    await mapped[Symbol.asyncDispose]();
    gst.buffer(mapped);
  }, ofCore(DisposedError, /was disposed/)),
  "a format by a name of the program's": mappedRow(
    { type: "picture", format: "mine", width: 4, height: 4, planes: [PLANE] },
    (gst, mapped) => gst.buffer(mapped),
    wrong("frame", /GStreamer has no format mine/, /YV12.* Or name its pixels as GStreamer does/),
  ),
  "other planes than a format has": mappedRow(
    { type: "picture", format: "Y42B", width: 4, height: 4, planes: [PLANE] },
    (gst, mapped) => gst.buffer(mapped),
    wrong("frame", /its planes are not those of GStreamer's Y42B/, /attach/),
  ),
  "sound of a type that GStreamer has not": mappedRow(
    { type: "audio", format: "f16", sampleRate: 8000, channels: 1, samples: 8, layout: "planar" },
    (gst, mapped) => gst.buffer(mapped),
    wrong("frame", /no sound of f16/),
  ),
  "sound in more blocks than a buffer takes": row(({ gst }) => {
    using graph = new MapperGraph([host, gst]);
    using apart = new DisposableStack();
    const planes = Array.from({ length: 17 }, () => {
      return apart.use(graph.map(apart.use(host.allocate({ shape: [8], dtype: "f32" })), gst));
    });
    const about = { sampleRate: 8000, channels: 17, samples: 8, layout: "planar" } as const;
    using sound = Frame.of(planes, { type: "audio", format: "f32", ...about });
    gst.buffer(sound);
  }, unfit("frame", /lie in 17 blocks, and a GstBuffer takes 16/)),
  "a time of no time base handed over": mappedRow(
    any({ ...NV12, media: { pts: 40n } }),
    (gst, mapped) => gst.buffer(mapped),
    wrong("frame", /a time and no timeBase/, /timeBase: \[1, 1000\]/),
  ),
  "gaps within rows handed over": row(({ gst }) => {
    using graph = new MapperGraph([host, gst]);
    using wide = host.allocate({ shape: [4, 8], dtype: "u8" });
    using every = wide.slice(layout({ shape: [4, 4], dtype: "u8", strides: [8, 2] }));
    using picture = Frame.of([every], imageInfo({ format: "GRAY8", width: 4, height: 4 }));
    using mapped = graph.map(picture, gst);
    gst.buffer(mapped);
  }, unfit("frame", /gaps within the rows of plane 0/)),
  "a frame that was handed over, attached": mappedRow(NV12, (gst, mapped) => {
    using lent = new Owned(gst.buffer(mapped));
    gst.attach(lent.address, { caps: CAPS });
  }, wrong("pointer", /over a tensor's memory/, /gstreamer\.buffer/)),
  "a write while GStreamer has the frame": row(async ({ gst }) => {
    using graph = new MapperGraph([host, gst]);
    using picture = host.allocateFrame(NV12);
    await using mapped = graph.map(picture, gst);
    using _lent = new Owned(gst.buffer(mapped));
    picture.planes[0].view();
  }, ofCore(AccessError, /lent|mapped/, { hint: /./ })),
  "a batch that is null": row(({ gst }) => gst.attachBatch(0n), wrong("pointer", /expected a handle, got null/)),
  "a buffer in place of a batch": row(
    ({ gst, made }) => gst.attachBatch(made.address),
    wrong("pointer", /expected the address of a GstBufferList or a GstSample/),
  ),
  "a batch in place of a buffer": row(({ gst, made }) => {
    using list = listOf(made);
    gst.attach(list.address, { caps: CAPS });
  }, wrong("pointer", /expected the address of a GstBuffer or a GstSample/)),
  "an empty batch": row(({ gst }) => {
    using list = listOf();
    gst.attachBatch(list.address, { caps: CAPS });
  }, wrong("pointer", /no list of buffers, or an empty one/, /attach\(\) takes one/, "gst_sample_get_buffer_list")),
  "a sample of one buffer in place of a batch": row(({ gst, made }) => {
    using sample = made.sample(CAPS);
    gst.attachBatch(sample.address);
  }, wrong("pointer", /no list of buffers/, /attach\(\) takes one/, "gst_sample_get_buffer_list")),
  "a batch whose second buffer is too short": row(({ gst, made }) => {
    using short = new CBuffer(memory(8));
    using list = listOf(made, short);
    gst.attachBatch(list.address, { caps: CAPS });
  }, unfit("pointer", /reaches to byte 16; the memory has 8/)),
  "a batch with an owner": row(
    ({ gst, made }) => gst.attachBatch(made.address, any({ owner: () => {} })),
    ofCore(ArgumentError, /unknown property owner/, { argument: "options", hint: /Use access, caps, copy/ }),
  ),
  "a batch of an access that there is not": row(({ gst, made }) => {
    using list = listOf(made);
    gst.attachBatch(list.address, any({ access: "all", caps: CAPS }));
  }, ofCore(ArgumentError, /"read", "write" or "read-write"/, { argument: "access" })),
});
