import { POLLIN } from "../../ffi/dmabuf/constants.ts";
import { sync_merge_data } from "../../ffi/dmabuf/structs.ts";
import type { Driver, LineEvents } from "../core/contract.ts";
import type { Fence } from "../core/device/fence.ts";
import { Line } from "../core/device/line.ts";
import { Port } from "../core/device/port.ts";
import { messageOf, warn } from "../core/errors.ts";
import { ledger } from "../core/life/ledger.ts";
import { undoAll, unwind } from "../core/life/undo.ts";
import { closeFd, duplicateFd } from "../core/native/fd.ts";
import { ready } from "../core/native/poller.ts";
import { statusOfSyncFile, syncFileIn } from "../core/native/sync_file.ts";
import { checks, ioctl, isReady, kernelError, onlyFd, structOf } from "./library.ts";

const OWNED = "dmabuf.sync_file";

interface SyncFile {
  readonly mark: number;
  readonly fd: number;
  /** True for imports, which the line releases. */
  readonly owned: boolean;
}

/** A line whose marks are sync files: a mark is over when they are signalled. */
export class SyncLane {
  /** The files that were not seen signalled yet, by mark. */
  files: readonly SyncFile[] = [];
  /** The files that the next command stands for. */
  waits: readonly number[] = [];
  readonly events: LineEvents;

  /** Takes over a sync file as its first mark. */
  constructor(events: LineEvents, first?: number) {
    this.events = events;
    if (first === undefined) return;
    this.files = [{ mark: 1, fd: first, owned: true }];
    ledger.add(OWNED);
  }

  before(mark: number): readonly SyncFile[] {
    return this.files.filter((file) => file.mark <= mark);
  }
}

function close(file: SyncFile): void {
  if (!file.owned) return;
  forgotten.unregister(file);
  ledger.remove(OWNED);
  closeFd(file.fd);
}

/** A fence needs no dispose: if it was never seen over, its sync file is closed once the fence is collected. */
const forgotten = new FinalizationRegistry<SyncFile>((file) => {
  for (const error of unwind([() => close(file)])) warn(`closing a sync file: ${messageOf(error)}`);
});

/** Lanes of sync files that were not seen signalled. */
const unseen = new Set<WeakRef<SyncLane>>();

/** The number of lanes that each new sync file queries. */
const LOOKS = 2;

/**
 * Closes signalled files, because no program queries a file that a device waits for. Each new file queries two others, so that
 * a loop of maps keeps no more files than there is work in flight.
 */
function look(): void {
  for (const ref of Array.from(unseen.values().take(LOOKS))) {
    unseen.delete(ref);
    const lane = ref.deref();
    if (lane === undefined) continue;
    for (const error of unwind([() => poll(lane)])) warn(`looking at a sync file: ${messageOf(error)}`);
    if (lane.files.length > 0) unseen.add(ref);
  }
}

/** Forgets files, and closes the lane's own. Even if a close fails, no file is queried again. */
function closeAll(lane: SyncLane, files: readonly SyncFile[]): void {
  lane.files = lane.files.filter((file) => !files.includes(file));
  undoAll(files.map((file) => () => close(file)), "closing sync files");
}

function isOver(file: SyncFile, events: LineEvents): boolean {
  const status = statusOfSyncFile(file.fd, "dmabuf");
  if (status === 0) return false;
  if (status < 0) events.failed(file.mark, kernelError("sync_file", -status, "The driver whose fence it is failed."));
  return true;
}

function poll(lane: SyncLane): void {
  closeAll(lane, lane.files.filter((file) => isOver(file, lane.events)));
}

function merged([first, ...rest]: readonly SyncFile[]): number {
  return rest.reduce((fd, other) => onlyFd(() => merge(fd, other.fd), [() => closeFd(fd)]), duplicateFd(first.fd));
}

function merge(fd: number, other: number): number {
  const arg = structOf(sync_merge_data);
  arg.setInt32(sync_merge_data.fields.fd2.offset, other, true);
  ioctl(fd, "SYNC_IOC_MERGE", arg);
  return arg.getInt32(sync_merge_data.fields.fence.offset, true);
}

const driver: Driver<SyncLane> = {
  api: "dmabuf",
  error: (code, fn) => kernelError(fn, code),
  lines: {
    close: (lane) => closeAll(lane, lane.files),
    submitted(lane, mark) {
      lane.files = [...lane.files, ...lane.waits.map((fd) => ({ mark, fd, owned: false }))];
      lane.waits = [];
    },
    refused: (lane) => void (lane.waits = []),
    poll(lane, mark) {
      poll(lane);
      return lane.files.length === 0 ? mark : lane.files[0].mark - 1;
    },
    block: (lane, mark) => lane.before(mark).forEach(({ fd }) => isReady(fd, POLLIN, "block")),
    async waitElsewhere(lane, mark) {
      for (const file of lane.before(mark)) {
        if (!lane.files.includes(file)) continue; // another wait saw it signalled, and has closed it
        const copy = duplicateFd(file.fd); // another wait may close the file during this one
        try {
          await ready(copy, "read");
        } finally {
          closeFd(copy);
        }
      }
    },
    sync: {
      exports: ["sync-fd"],
      imports: ["sync-fd"],
      export: (lane, mark, kind) => new Port(kind, { fd: merged(lane.before(mark)) }),
      import: (port) => port.takeFd(),
      wait: (lane, fd: number) => void (lane.waits = [...lane.waits, fd]),
      release: closeFd,
    },
  },
};

/** The line of maps that make their work a fence of the buffer. */
export const signals: Line<SyncLane> = newLine("the fences of dma-bufs");

/** Makes a separate line, because marks of one line wait for each other. Takes over a sync file as its first mark. */
export function newLine(name: string, first?: number): Line<SyncLane> {
  const line = new Line<SyncLane>({ driver, name, open: (events) => new SyncLane(events, first) });
  for (const file of line.lane.files) {
    forgotten.register(line, file, file);
    look();
    unseen.add(new WeakRef(line.lane));
  }
  return line;
}

/** A sync file as a fence, which takes it over. */
export function fenceOf(fd: number): Fence {
  const line = newLine("a sync file", fd);
  line.submit([], { fn: "sync_file", call: () => 0 });
  return line.fence();
}

/** A program's sync file as a fence, under a duplicate of its fd. @throws {ArgumentError} for any other fd. */
export function attachFence(given: number): Fence {
  return fenceOf(syncFileIn(given, checks));
}
