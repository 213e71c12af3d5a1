import {
  AccessError,
  ArgumentError,
  DisposedError,
  type Frame,
  host,
  type HostTensor,
  imageInfo,
  NativeCallError,
  type Tensor,
} from "@samepage/interop";
import { UcxContext, type UcxRemote, type UcxRings, type UcxShare } from "@samepage/interop/ucx";
import { any, say } from "../kit.ts";
import { type Failure, failuresOf, ofCore, type Row, table } from "../row.ts";

const { wrong, unfit } = failuresOf("ucx");
const options = (message: RegExp, hint: RegExp) => ofCore(ArgumentError, message, { argument: "options", hint });
const gone = (message: RegExp) => ofCore(DisposedError, message);
const BYTES = { shape: [16], dtype: "u8" } as const;
const TCP = { transports: ["tcp"] } as const;
const TICKET = /Pass on all bytes of share.ticket/;

const ONLINE = ["--allow-ffi", "--allow-net"];

/** A row with a context and a tensor. */
function opened(use: (ucx: UcxContext, tensor: HostTensor<"u8">) => unknown, fails?: Failure): Row {
  return {
    async run() {
      await using ucx = UcxContext.open(TCP);
      await using tensor = host.allocate(BYTES);
      await use(ucx, tensor);
    },
    ...(fails === undefined ? {} : { fails }),
  };
}

interface Connected {
  readonly ucx: UcxContext;
  readonly share: UcxShare;
  readonly remote: UcxRemote;
  readonly there: HostTensor<"u8">;
  readonly here: HostTensor<"u8">;
}

/** A row with both sides. */
function connected(use: (both: Connected) => unknown, fails?: Failure): Row {
  return opened(async (ucx, there) => {
    await using share = ucx.share([there]);
    await using remote = ucx.connect(share.ticket);
    await using here = host.allocate(BYTES);
    await use({ ucx, share, remote, there, here });
  }, fails);
}

/** A row with rings that meet at Unix sockets, and frames. */
function ringed(
  use: (
    at: { readonly ucx: UcxContext; readonly rings: UcxRings; readonly path: string; frames: HostFrame[] },
  ) => unknown,
  fails?: Failure,
): Row {
  const row = opened(async (ucx) => {
    const rings = ucx.rings({
      listen: (path) => Deno.listen({ transport: "unix", path }),
      connect: (path) => Deno.connect({ transport: "unix", path }),
      timeout: 2_000,
    });
    const info = imageInfo({ format: "RGBA", width: 4, height: 4 });
    using made = new DisposableStack();
    const frames = [0, 1].map(() => made.use(host.allocateFrame(info)));
    await use({ ucx, rings, path: `/tmp/samepage-misuse-ucx-${Deno.pid}-${++paths}`, frames });
  }, fails);
  return { ...row, flags: SOCKETS };
}

/** What Deno's own sockets need. */
const SOCKETS = ["--allow-ffi", "--allow-net", "--allow-read", "--allow-write"];

let paths = 0;

type HostFrame = Frame<HostTensor>;

const SECRET = "sixteen bytes and more";

export default table(import.meta, {
  "rings in words": opened((ucx) => {
    const text = ucx.rings({ secret: SECRET }).toString();
    if (!/^rings of ucx context/.test(text)) throw new Error(text);
  }),
  "rings of which anybody may be a reader": opened(
    (ucx) => ucx.rings({}),
    wrong("options", /expected a secret or sockets, got neither/, /pass \{ secret \}/),
  ),
  "rings with a secret, and sockets of one side alone": opened(
    (ucx) => {
      using one = host.allocate(BYTES);
      using other = host.allocate(BYTES);
      const rings = ucx.rings({ secret: SECRET, connect: (path) => Deno.connect({ transport: "unix", path }) });
      rings.create("here", { frames: [one, other] });
    },
    wrong("listen", /it is missing/, /pass \{ secret \}/),
  ),
  "a secret that can be guessed": opened(
    (ucx) => ucx.rings({ secret: "hunter2" }),
    wrong("secret", /expected 16 bytes or more, got 7/, /Let it be random/),
  ),
  "a number for a secret": opened(
    (ucx) => ucx.rings({ secret: any(12345678) }),
    wrong("secret", /expected a string or bytes, got a number/),
  ),
  "a listener in place of what makes one": opened(
    (ucx) => ucx.rings({ listen: any({ accept() {}, close() {} }) }),
    wrong("listen", /expected a function/),
  ),
  "a timeout of a ring that no beat could meet": opened(
    (ucx) => ucx.rings({ secret: SECRET, timeout: 1 }),
    wrong("timeout", /expected an integer from 100/),
  ),
  "an unknown option of rings": opened(
    (ucx) => ucx.rings(any({ secret: SECRET, key: 1 })),
    options(/unknown property key/, /secret/),
  ),
  "a ring at an address that is none": opened((ucx) => {
    using one = host.allocate(BYTES);
    using other = host.allocate(BYTES);
    ucx.rings({ secret: SECRET }).create("camera", { frames: [one, other] });
  }, wrong("address", /expected "host:port", or a port of 127.0.0.1, got "camera"/)),
  "a ring at a number": ringed(
    ({ rings, frames }) => rings.create(any(7000), { frames }),
    wrong("address", /expected a string, got a number/),
  ),
  "a ring of one frame": ringed(
    ({ rings, path, frames }) => rings.create(path, { frames: frames.slice(1) }),
    failuresOf("channel").wrong("frames", /expected 2 to 1024 frames, got 1/),
  ),
  "a ring over UCX with what the channel's has": ringed(
    ({ rings, path, frames }) => rings.create(path, any({ frames, allow: () => true })),
    options(/unknown property allow/, /frames, whenFull/),
  ),
  "a ring of which a frame is used by others": ringed(({ rings, path, frames }) => {
    using _part = frames[0].planes[0].slice({ shape: [4], dtype: "u8" });
    rings.create(path, { frames });
  }, ofCore(AccessError, /frames\[0\]/, { argument: "frames[0]", hint: /Dispose that first/ })),
  "to read a ring over UCX without a context": ringed(
    async ({ rings, path }) => await rings.open(path, {}), // no process listens there, which it does not find out
    failuresOf("channel").wrong("contexts", /expected one or more/, /\{ contexts: \[host\] \}/),
  ),
  "a read of a ring over UCX without a listener": ringed(
    async ({ rings, path }) => await rings.open(path, { contexts: [host] }),
    {
      error: NativeCallError,
      api: "ucx",
      fn: "connect",
      code: 2,
      codeName: "ENOENT",
      message: /ENOENT/,
      hint: /Start it first/,
    },
  ),
  "a read of a ring at an address to which no route leads": {
    ...opened((ucx) => ucx.rings({ secret: SECRET }).open("255.255.255.255:7000", { contexts: [host] }), {
      error: NativeCallError,
      api: "ucx",
      fn: "connect",
      code: 101,
      codeName: "ENETUNREACH",
      message: /ENETUNREACH/,
      hint: /No route leads from this machine to 255\.255\.255\.255:7000/,
    }),
    flags: ONLINE,
  },
  "a read of a ring at a host that does not exist": {
    ...opened(
      (ucx) => ucx.rings({ secret: SECRET }).open("nowhere.invalid:7000", { contexts: [host] }),
      wrong("address", /finds no host for "nowhere\.invalid:7000"/, /Is the name right/, "connect"),
    ),
    flags: ONLINE,
  },
  "a ring at an address of another machine": {
    ...opened((ucx, one) => {
      using other = host.allocate(BYTES);
      ucx.rings({ secret: SECRET }).create("255.255.255.254:7000", { frames: [one, other] });
    }, {
      error: NativeCallError,
      api: "ucx",
      fn: "listen",
      code: 99,
      codeName: "EADDRNOTAVAIL",
      message: /EADDRNOTAVAIL/,
      hint: /an address of its own machine/,
    }),
    flags: ONLINE,
  },
  "rings that only listen, to read one": opened(
    async (ucx) => {
      const rings = ucx.rings({ listen: (path) => Deno.listen({ transport: "unix", path }) });
      await rings.open("/tmp/ring", { contexts: [host] });
    },
    wrong("connect", /it is missing/, /\{ listen, connect \}/),
  ),
  "rings of a context that was disposed": {
    run() {
      const ucx = UcxContext.open(TCP);
      ucx[Symbol.dispose]();
      ucx.rings({ secret: SECRET });
    },
    fails: gone(/ucx context was disposed/),
  },

  "what the other side says of a tensor, after its end": {
    async run() {
      using ucx = UcxContext.open(TCP);
      using there = host.allocate(BYTES);
      using share = ucx.share([there]);
      const remote = ucx.connect(share.ticket);
      const [far] = remote.tensors;
      using here = host.allocate(BYTES);
      await far.get(here);
      await remote[Symbol.asyncDispose]();
      say(far.shape.join(), far.dtype, far.byteLength);
    },
    says: ["16 u8 16"],
  },
  "options that are none": {
    run: () => UcxContext.open(any(5)),
    fails: ofCore(ArgumentError, /an object/, { argument: "options" }),
  },
  "an unknown option": {
    run: () => UcxContext.open(any({ transport: "tcp" })),
    fails: options(/unknown property transport/, /transports, devices/),
  },
  "transports as one text": {
    run: () => UcxContext.open({ transports: any("tcp") }),
    fails: wrong("transports", /expected an array of names/),
  },
  "no transports": {
    run: () => UcxContext.open({ transports: [] }),
    fails: wrong("transports", /at least one name, got none/),
  },
  "a transport with a sign of UCX's": {
    run: () => UcxContext.open({ transports: ["^tcp"] }),
    fails: wrong("transports", /expected UCX names, got \^tcp/),
  },
  "a device that is not there": {
    run: () => UcxContext.open({ devices: ["lo", "eth99"] }),
    fails: wrong("devices", /UCX finds no eth99 on this machine/, /ip link/),
  },
  "two devices in one text": {
    run: () => UcxContext.open({ devices: ["lo,eth0"] }),
    fails: wrong("devices", /expected UCX names, got lo,eth0/),
  },
  "a device that is not a text": {
    run: () => UcxContext.open({ devices: any([1]) }),
    fails: wrong("devices", /expected UCX names, got 1/),
  },
  "transports that are not there": {
    run: () => UcxContext.open({ transports: ["warp", "ether"] }),
    fails: {
      error: NativeCallError,
      ...{ api: "ucx", fn: "ucp_init_version", code: -14, codeName: "UCS_ERR_NO_DEVICE" },
      message: /UCS_ERR_NO_DEVICE/,
      hint: /UCX finds no warp, no ether on this machine/,
    },
  },
  "a context that was disposed": {
    run() {
      const ucx = UcxContext.open(TCP);
      ucx[Symbol.dispose]();
      using tensor = host.allocate(BYTES);
      ucx.share([tensor]);
    },
    fails: gone(/ucx context was disposed/),
  },
  "a GPU's memory over tcp alone": opened((ucx) => {
    if (ucx.takesCuda) throw new Error("tcp moves no such memory");
  }),
  "a tensor for an array of tensors": opened(
    (ucx, tensor) => ucx.share(any(tensor)),
    wrong("tensors", /an array of tensors/),
  ),
  "no tensors": opened((ucx) => ucx.share([]), wrong("tensors", /expected 1 to 4096 tensors, got 0/)),
  "a view for a tensor": opened(
    (ucx, tensor) => ucx.share([any(tensor.view())]),
    wrong("tensors[0]", /expected a Tensor, got a Uint8Array/),
  ),
  "a frame for a tensor": opened((ucx) => {
    using frame = host.allocateFrame(imageInfo({ format: "RGBA", width: 4, height: 4 }));
    ucx.share([any<Tensor>(frame)]);
  }, wrong("tensors[0]", /expected a Tensor, got a Frame/)),
  "a tensor that was disposed": opened((ucx) => {
    const tensor = host.allocate(BYTES);
    tensor[Symbol.dispose]();
    ucx.share([tensor]);
  }, gone(/was disposed/)),
  "a tensor with gaps": opened((ucx) => {
    using tensor = host.allocate({ shape: [2, 3], dtype: "u8", rowAlign: 16 });
    ucx.share([tensor]);
  }, unfit("tensors[0]", /gaps between its elements/, /Pass elements without gaps/)),
  "a tensor for reading, shared for writing": opened(
    (ucx, tensor) => {
      using part = tensor.slice(BYTES, { access: "read" });
      ucx.share([part], { access: "read-write" });
    },
    ofCore(AccessError, /read/, { argument: "access", hint: /Ask for it when it is made/ }),
  ),
  "an access for writing alone": opened(
    (ucx, tensor) => ucx.share([tensor], { access: any("write") }),
    wrong("access", /expected one of "read", "read-write", got "write"/),
  ),
  "an unknown option of a share": opened(
    (ucx, tensor) => ucx.share([tensor], any({ mode: "read" })),
    options(/unknown property mode/, /access/),
  ),
  "a ticket of a share that has ended": opened(
    (ucx, tensor) => {
      const share = ucx.share([tensor]);
      share[Symbol.dispose]();
      share.ticket;
    },
    gone(/ucx share of .* was disposed/),
  ),
  "a text for a ticket": opened((ucx) => ucx.connect(any("ticket")), wrong("ticket", /expected the bytes of a ticket/)),
  "bytes that are not a ticket": opened(
    (ucx) => ucx.connect(new Uint8Array(100)),
    wrong("ticket", /it is not a ticket/, TICKET),
  ),
  "half a ticket": connected(
    ({ ucx, share }) => ucx.connect(share.ticket.subarray(0, 99)),
    wrong("ticket", /it is cut short/, TICKET),
  ),
  "a timeout of no time": connected(
    ({ ucx, share }) => ucx.connect(share.ticket, { timeout: 0 }),
    wrong("timeout", /expected an integer from 1/),
  ),
  "an unknown option of a connection": connected(
    ({ ucx, share }) => ucx.connect(share.ticket, any({ seconds: 1 })),
    options(/unknown property seconds/, /timeout/),
  ),
  "a view to get into": connected(
    ({ remote, here }) => remote.tensors[0].get(any(here.view())),
    wrong("into", /expected a Tensor, got a Uint8Array/),
  ),
  "a tensor that is too short to get into": connected(({ remote }) => {
    using short = host.allocate({ shape: [15], dtype: "u8" });
    remote.tensors[0].get(short);
  }, unfit("into", /expected the 16 bytes of .*, got 15/)),
  "a tensor for reading to get into": connected(
    ({ remote, here }) => {
      using part = here.slice(BYTES, { access: "read" });
      remote.tensors[0].get(part);
    },
    ofCore(AccessError, /read/, { argument: "access", hint: /Ask for it when it is made/ }),
  ),
  "a promise for a fence": connected(
    ({ remote, here }) => remote.tensors[0].get(here, { after: any(Promise.resolve()) }),
    wrong("after", /expected a fence/, /host.signal\(promise\)/),
  ),
  "an unknown option of a command": connected(
    ({ remote, here }) => remote.tensors[0].get(here, any({ behind: 1 })),
    options(/unknown property behind/, /after/),
  ),
  "a put into what is shared for reading": connected(
    ({ remote, here }) => remote.tensors[0].put(here),
    wrong("from", /shared its tensors for reading/, /access: "read-write"/),
  ),
  "a put from a frame": connected(({ remote }) => {
    using frame = host.allocateFrame(imageInfo({ format: "RGBA", width: 2, height: 2 }));
    remote.tensors[0].put(any<Tensor>(frame));
  }, wrong("from", /expected a Tensor, got a Frame/)),
  "a command of a connection that was disposed": connected(({ remote, here }) => {
    remote[Symbol.dispose]();
    remote.tensors[0].get(here);
  }, gone(/ucx remote of 1 tensor was disposed/)),
  "a fence of a connection": connected(async ({ remote }) => await remote.fence()),
  "a connection in words": connected(({ remote }) => {
    if (!/\[16\] u8 of ucx remote of 1 tensor/.test(`${remote.tensors[0].toString()}`)) {
      throw new Error(`${remote.tensors[0]}`);
    }
  }),
});
