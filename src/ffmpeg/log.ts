import { AV_LOG_ERROR, AV_LOG_QUIET, AV_LOG_WARNING } from "../../ffi/avcodec59/constants.ts";
import type { Address } from "../../ffi/address.ts";
import type { Undo } from "../core/life/undo.ts";
import { functionsOf } from "../guard/load.ts";
import { LogRing } from "../guard/log_ring.ts";
import { avutil } from "./library.ts";

interface Log {
  readonly ring: LogRing;
  /** Has FFmpeg write to it. */
  take(): void;
}

/** Null where no machine code may run. */
let log: Log | null | undefined;

/**
 * Sends FFmpeg's log to {@link reportLog} from now on, and not to stderr. The isolate that called this last has it. Where no
 * machine code may run, FFmpeg logs nothing.
 */
export function takeLog(): void {
  const { fns } = avutil();
  log ??= newLog();
  if (log === null) return fns.av_log_set_level(AV_LOG_QUIET);
  log.ring.keep(keptAt(fns.av_log_get_level()));
  log.ring.begin();
  log.take();
}

/** The least important level that is reported, unless a program chooses less. */
function keptAt(level: number): number {
  return Math.max(0, Math.min(AV_LOG_WARNING, level));
}

/** Has FFmpeg log only errors during a call, because its warnings are about things that the program did not ask for. */
export function withErrorsAlone<T>(run: () => T): T {
  const { fns } = avutil();
  const level = fns.av_log_get_level();
  setLevel(Math.min(level, AV_LOG_ERROR));
  try {
    return run();
  } finally {
    setLevel(level);
  }
}

function setLevel(level: number): void {
  avutil().fns.av_log_set_level(level);
  log?.ring.keep(keptAt(level));
}

/** `void callback(void *avcl, int level, const char *format, va_list arguments)` has FFmpeg write the text. */
function newLog(): Log | null {
  const { av_log_format_line2, av_log_set_callback } = functionsOf(
    "ffmpeg",
    "av_log_format_line2",
    "av_log_set_callback",
  );
  const ring = LogRing.open("FFmpeg", (code) => {
    code.op32([0xc7, 0x44, 0x24, 8], 1); // mov dword ptr [rsp + 8], 1: the line begins with a prefix
    code.op(0x48, 0x8d, 0x44, 0x24, 8).op(0x48, 0x89, 0x04, 0x24); // lea rax, [rsp + 8]; mov [rsp], rax
    code.op64([0x48, 0xb8], av_log_format_line2).op(0xff, 0xd0); // movabs rax, av_log_format_line2; call rax
  });
  if (ring === undefined) return null;
  const type = { parameters: ["u64"], result: "void" } as const;
  const set = new Deno.UnsafeFnPointer(Deno.UnsafePointer.create<typeof type>(av_log_set_callback)!, type);
  return { ring, take: () => set.call(ring.callback) };
}

/** The FFmpeg objects of decoders and encoders, as log lines name them. */
const known = new Set<string>();

/** Those whose last call was interrupted. */
const stopped = new Set<string>();

/** Reports the lines of an object until the list is undone. */
export function listenTo(object: Address, undo: Undo): void {
  known.add(inLine(object));
  undo.push(() => known.delete(inLine(object)));
}

/** Hides the lines of an object until the list is undone, because its last call was interrupted. */
export function silence(object: Address, undo: Undo): void {
  const name = inLine(object);
  stopped.add(name);
  undo.push(() => {
    reportLog();
    stopped.delete(name);
  });
}

function inLine(object: Address): string {
  return ` @ 0x${object.toString(16)}]`;
}

/** Warns of what FFmpeg has said since the last call: `[h264 @ 0x7f…] text`, without the address. */
export function reportLog(): void {
  log?.ring.report((line) => {
    return isOfStopped(line) || OF_ITS_NAME.test(line) ? "" : line.replaceAll(ADDRESSES, "]");
  });
}

/**
 * True for a line of an object that was interrupted, or of an unknown object meanwhile: that is the parser of a packet
 * that was cut, to which no call returns a pointer.
 */
function isOfStopped(line: string): boolean {
  const [name] = stopped.size === 0 ? [] : ADDRESS.exec(line) ?? [];
  return name !== undefined && (stopped.has(name) || !known.has(name));
}

/** FFmpeg writes to a file that has no name yet, and warns of the end of that name. */
const OF_ITS_NAME = /Warning, extension is not \.m4a/;

const ADDRESS = / @ 0x[0-9a-f]+\]/;
const ADDRESSES = new RegExp(ADDRESS, "g");
