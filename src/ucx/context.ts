import type { Address } from "../../ffi/address.ts";
import {
  UCP_FEATURE_RMA,
  UCP_FEATURE_TAG,
  UCP_FEATURE_WAKEUP,
  UCP_PARAM_FIELD_FEATURES,
} from "../../ffi/ucx/constants.ts";
import { UCS_ERR_NO_DEVICE } from "../../ffi/ucx/errors.ts";
import type { UcpContextH } from "../../ffi/ucx/handles.ts";
import { ucp_params_t, writeUcpParams } from "../../ffi/ucx/structs.ts";
import { type Names, optionsIn, shown } from "../core/argument.ts";
import { NativeCallError, ofArgument } from "../core/errors.ts";
import { keepFor, registerContext } from "../core/life/finalizers.ts";
import { counted } from "../core/life/ledger.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import { allOrNothing, thenUndo, type Undo } from "../core/life/undo.ts";
import { cString } from "../core/native/text.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import { check, checks, made, ucp, ucxError } from "./library.ts";
import { INSTALL_CUDA, type OpenUcx, placeOf, takesCuda, WITHOUT_CUDA } from "./place.ts";
import { UcxRemote } from "./remote.ts";
import { LONGEST_NOTICE } from "./ring/link.ts";
import { UcxRings } from "./ring/rings.ts";
import type { UcxRingsOptions } from "./ring/sockets.ts";
import { UcxShare } from "./share.ts";
import { isOfCuda, MAX_TENSORS, unpackTicket } from "./ticket.ts";
import { UcpWorker } from "./worker.ts";

/** Options of {@link UcxContext.open}. */
export interface UcxOpenOptions {
  /** The transports, as UCX names them (`"posix"`, `"cma"`, `"tcp"`, `"rc"`); all that this machine has if left out. */
  readonly transports?: readonly string[];
  /**
   * The network devices, as UCX names them (`"eth0"`, `"mlx5_0:1"`). By default `["lo"]`: no other machine can
   * connect. UCX does not check who connects to the ports that it opens there, so name a network that you trust.
   */
  readonly devices?: readonly string[];
}

/** Options of {@link UcxContext.share}. */
export interface UcxShareOptions {
  /** What others may do: `"read"` by default. */
  readonly access?: "read" | "read-write";
}

/** Options of {@link UcxContext.connect}. */
export interface UcxConnectOptions {
  /** Milliseconds that a command may take, after which the connection is given up: 10,000 by default. */
  readonly timeout?: number;
}

const OPEN: Names<UcxOpenOptions> = { transports: true, devices: true };
const SHARE: Names<UcxShareOptions> = { access: true };
const CONNECT: Names<UcxConnectOptions> = { timeout: true };
const ACCESSES = { "read": true, "read-write": true } as const;

/** The transports of network devices. */
const NETWORK = "tcp,ib";

const TIMEOUT_MS = 10_000;
const LONGEST_MS = 3_600_000;

/** The version of UCX's interface that ffi/ucx is of. */
const [MAJOR, MINOR] = [1, 13];

/** How often UCX looks whether the process on the other side of its shared memory is alive, while a command is in flight. */
const KEEPALIVE = "500ms";

/**
 * UCX: memory of other processes, on this machine and on others, by shared memory, TCP or RDMA.
 *
 * @example
 * ```ts ignore
 * import { host } from "@samepage/interop";
 * import { UcxContext } from "@samepage/interop/ucx";
 *
 * using ucx = UcxContext.open();
 * using numbers = host.allocate({ shape: [4], dtype: "f32" });
 * numbers.view().set([1, 2, 3, 4]);
 * using share = ucx.share([numbers]);
 *
 * // In another process, as a rule, to which share.ticket was sent:
 * using remote = ucx.connect(share.ticket);
 * using here = host.allocate({ shape: [4], dtype: "f32" });
 * await remote.tensors[0].get(here);
 * console.log(here.view()); // Float32Array(4) [ 1, 2, 3, 4 ]
 * ```
 */
export class UcxContext extends NativeObject {
  /** Its end of life: shares and connections end first. */
  readonly resource: Resource;
  readonly #ucx: OpenUcx;
  /** The worker of all connections that this side makes. */
  readonly #worker: UcpWorker;

  private constructor(ucx: OpenUcx, worker: UcpWorker, undo: Undo) {
    super();
    this.#ucx = ucx;
    this.#worker = worker;
    this.resource = new Resource({ name: "ucx context", undo });
    registerContext(this, this.resource);
  }

  /**
   * Opens UCX.
   *
   * @throws {LibraryNotFoundError} if there is no UCX.
   * @throws {ArgumentError} if UCX finds no network device of a name.
   * @throws {NativeCallError} UCS_ERR_NO_DEVICE if this machine has none of the transports.
   */
  static open(options: UcxOpenOptions = {}): UcxContext {
    const { transports, devices = ["lo"] } = optionsIn(options, OPEN);
    const settings = {
      ...(transports === undefined ? {} : { TLS: namesIn(transports, "transports") }),
      NET_DEVICES: namesIn(devices, "devices"),
      KEEPALIVE_INTERVAL: KEEPALIVE,
      RNDV_THRESH: `${LONGEST_NOTICE + 1}`,
    };
    for (const device of options.devices ?? []) assertDevice(device);
    return allOrNothing("opening UCX", (undo) => {
      const ucx = openedBy(settings);
      const cleanUp = counted("ucx.context", () => ucp().ucp_cleanup(ucx.handle));
      const own: { worker?: UcpWorker } = {};
      undo.push(() => own.worker?.stays || cleanUp());
      own.worker = new UcpWorker(ucx.handle, undo);
      return new UcxContext(ucx, own.worker, undo);
    });
  }

  /**
   * True if it uses CUDA's memory in place: this UCX has libuct_cuda, this machine has a GPU for it, and `transports`, if
   * they were given, name `"cuda_copy"`.
   */
  get takesCuda(): boolean {
    return this.#ucx.takesCuda;
  }

  /**
   * Shares tensors with other processes, in place. Their event loops and this one's have to turn for bytes to move. Others
   * read them while this program, or a device of its own, may write: agree by messages whose turn it is, and await the fences
   * of work on them first.
   *
   * @param tensors elements without gaps, in memory that the CPU sees, or in CUDA's if this context {@link takesCuda}
   * @throws {ArgumentError} for other memory.
   * @throws {AccessError} if a tensor may not be used so.
   * @throws {NativeCallError} if UCX cannot register the memory.
   */
  share(tensors: readonly Tensor[], options: UcxShareOptions = {}): UcxShare {
    const { access = "read" } = optionsIn(options, SHARE);
    checks.nameIn(access, ACCESSES, "access");
    this.resource.assertLive();
    if (!Array.isArray(tensors)) throw checks.wrongKind("tensors", "an array of tensors", tensors);
    if (tensors.length < 1 || tensors.length > MAX_TENSORS) {
      throw checks.wrong("tensors", `expected 1 to ${MAX_TENSORS} tensors, got ${tensors.length}.`);
    }
    const placed = Array.from(tensors, (tensor: Tensor, i) => {
      const argument = `tensors[${i}]`;
      const spot = placeOf(this.#ucx, tensor, argument);
      try {
        tensor.assertUsable(access);
      } catch (error) {
        throw ofArgument(error, argument, argument);
      }
      return { layout: tensor.layout, spot, owner: tensor.resource };
    });
    return new UcxShare(this.#ucx, this.resource, placed, access);
  }

  /**
   * Rings of frames whose readers are in other processes, on other machines too: `FrameRing` over UCX. The two sides meet
   * by TCP with a secret, or over sockets that the program makes. That connection says where their memory is, and that each
   * side is still there.
   *
   * @throws {ArgumentError} for a secret of less than 16 bytes, and for neither a secret nor sockets.
   *
   * @example
   * ```ts ignore
   * import { host, imageInfo } from "@samepage/interop";
   * import { UcxContext } from "@samepage/interop/ucx";
   *
   * const secret = Deno.env.get("CAMERA_SECRET")!;
   * await using ucx = UcxContext.open({ devices: ["eth0"] });
   * const info = imageInfo({ format: "RGBA", width: 1920, height: 1080 });
   * const frames = Array.from({ length: 4 }, () => host.allocateFrame(info));
   * await using camera = ucx.rings({ secret }).create("10.0.0.1:7000", { frames });
   * const frame = await camera.next();
   * frame.planes[0].bytes().fill(7);
   * await camera.publish(frame);
   * ```
   */
  rings(options: UcxRingsOptions): UcxRings {
    this.resource.assertLive();
    const rings = new UcxRings(this.#ucx, this.#worker, this.resource, options);
    keepFor(rings, this);
    return rings;
  }

  /**
   * Connects to what another process has shared. UCX reads the ticket without checks of its own: take it only from whom you
   * trust, over a connection that no one else can write to.
   *
   * @param ticket all bytes of its `share.ticket`
   * @throws {ArgumentError} if `ticket` is not a ticket or was changed, or is for CUDA's memory and {@link takesCuda} is false.
   * @throws {NativeCallError} UCS_ERR_UNREACHABLE if both sides have no transport in common.
   */
  connect(ticket: Uint8Array, options: UcxConnectOptions = {}): UcxRemote {
    const { timeout = TIMEOUT_MS } = optionsIn(options, CONNECT);
    checks.assertInteger(timeout, "timeout", 1, LONGEST_MS);
    const bytes = checks.bytesIn(ticket, "ticket", "the bytes of a ticket");
    this.resource.assertLive();
    const unpacked = unpackTicket(bytes);
    if (!this.takesCuda && unpacked.tensors.some(isOfCuda)) throw checks.wrong("ticket", WITHOUT_CUDA, INSTALL_CUDA);
    return new UcxRemote(this.#ucx, this.#worker, this.resource, unpacked, timeout);
  }
}

/** UCX itself, with settings other than its own. */
export function opened(settings: Readonly<Record<string, string>>): OpenUcx {
  const handle = initialized(settings);
  const cleanUp = () => ucp().ucp_cleanup(handle);
  return allOrNothing("opening UCX", () => ({ handle, takesCuda: takesCuda(handle) }), [cleanUp]);
}

function initialized(settings: Readonly<Record<string, string>>): UcpContextH {
  return thenUndo("opening UCX", (undo) => {
    const config = made<Address>("ucp_config_read", (out) => ucp().ucp_config_read(null, null, out));
    undo.push(() => ucp().ucp_config_release(config));
    for (const [name, value] of Object.entries(settings)) {
      check(ucp().ucp_config_modify(config, cString(name), cString(value)), "ucp_config_modify");
    }
    const params = new DataView(new ArrayBuffer(ucp_params_t.size));
    const features = BigInt(UCP_FEATURE_RMA | UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP);
    writeUcpParams(params, 0, { field_mask: BigInt(UCP_PARAM_FIELD_FEATURES), features });
    return made<UcpContextH>("ucp_init_version", (out) => ucp().ucp_init_version(MAJOR, MINOR, params, config, out));
  });
}

/** The same, with an error that names the transports where UCX finds none of them. */
function openedBy(settings: Parameters<typeof opened>[0]): OpenUcx {
  try {
    return opened(settings);
  } catch (cause) {
    if (settings.TLS === undefined || !isWithoutDevice(cause)) throw cause;
    const found = `UCX finds no ${settings.TLS.replaceAll(",", ", no ")} on this machine.`;
    const hint = `${found} UcxContext.open() without options takes all transports that it has.`;
    throw ucxError(UCS_ERR_NO_DEVICE, "ucp_init_version", { cause, hint });
  }
}

function isWithoutDevice(error: unknown): boolean {
  return error instanceof NativeCallError && error.code === UCS_ERR_NO_DEVICE;
}

/** UCX passes over devices that it does not find, and would share with this machine alone. */
function assertDevice(device: string): void {
  try {
    ucp().ucp_cleanup(opened({ TLS: NETWORK, NET_DEVICES: device }).handle);
  } catch (error) {
    if (!isWithoutDevice(error)) throw error;
    const hint = "Name one that `ip link` or `ucx_info -d` lists, such as eth0 or mlx5_0:1.";
    throw checks.wrong("devices", `UCX finds no ${device} on this machine.`, hint);
  }
}

/** Names for a UCX list, in which commas and other signs would have a meaning. */
function namesIn(given: readonly string[], argument: string): string {
  if (!Array.isArray(given)) throw checks.wrongKind(argument, "an array of names", given);
  const names = checks.itemsIn<string>(given, argument);
  const wrong = names.find((name) => typeof name !== "string" || !/^[\w.:-]{1,64}$/.test(name));
  if (wrong !== undefined) throw checks.wrong(argument, `expected UCX names, got ${shown(wrong)}.`);
  if (names.length === 0) throw checks.wrong(argument, "expected at least one name, got none.");
  return names.join(",");
}
