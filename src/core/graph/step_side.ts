import type { Call, StepSide } from "../contract.ts";
import type { Fence } from "../device/fence.ts";
import { throwAll } from "../errors.ts";
import type { Line } from "../device/line.ts";
import { ledger } from "../life/ledger.ts";
import type { GiveBack } from "../life/resource.ts";
import { type Undo, unwind } from "../life/undo.ts";
import type { Allocation } from "../memory/allocation.ts";

export interface HeldSide {
  readonly side: StepSide;
  readonly line: Line | undefined;
  readonly kind: string;
  /** The block, if the host can see it. Once a view of it was moved away, the side is never released. */
  readonly shows?: Allocation | undefined;
  /** True if its commands block while a promise holds up their line. */
  readonly blocks?: boolean | undefined;
}

export function hold({ side, kind, shows }: HeldSide, undo: Undo): void {
  const { release } = side;
  if (release === undefined) return;
  ledger.add(kind);
  undo.push(() => {
    ledger.remove(kind);
    if (!(shows?.escaped || shows?.unseen)) release.call(side);
  });
}

export interface Begun {
  readonly fences: readonly Fence[];
  /** The side's last command, to be submitted when the map ends. */
  readonly last: LastCall | undefined;
}

const NOTHING: Begun = { fences: [], last: undefined };

/** Submits the side's first command, and the one that brings the bytes if the map fetches them. */
export function begin({ side, line }: HeldSide, undo: Undo, fetches: boolean, waits: readonly Fence[]): Begun {
  const { begin, end, bring } = side;
  if (begin === undefined && end === undefined && bring === undefined) {
    return waits.length === 0 ? NOTHING : { fences: waits, last: undefined };
  }
  const last = lastOf(side);
  let fences = waits;
  const submit = (call: Call | undefined) => {
    if (call === undefined) return;
    const fence = line!.submitRaw(call, fences);
    // Even a call that blocks may not be over here: it may block only while a promise holds up its line.
    fences = [fence];
    undo.push(() => line!.block(fence.mark)); // a map that succeeds has waited for it
  };
  submit(side.begin?.());
  if (last !== undefined) undo.push(() => last.isDue && line!.submitRaw(last).waitSync());
  if (fetches) submit(side.bring?.());
  return { fences, last };
}

/** Closes what an import has left of a port. If that fails, the import is released, because nothing owns it yet. */
export function closeBeside(port: Disposable, imported: StepSide, blocks?: readonly { release(): void }[]): void {
  try {
    port[Symbol.dispose]();
  } catch (error) {
    const made = [imported, ...blocks ?? []];
    throwAll([error, ...unwind(made.map((one) => () => one.release?.()))], "closing what was exported");
  }
}

/** How a side gives the bytes back when the map ends; `next` is the other side's part. */
export function giveBackOf(
  held: HeldSide,
  last: LastCall | undefined,
  wrote: boolean,
  next?: GiveBack,
): GiveBack | undefined {
  const { side } = held;
  if (side.giveBack !== undefined) return { ...side.giveBack, next };
  const takesBack = wrote && side.takeBack !== undefined;
  return takesBack || last !== undefined ? byCommands(held, takesBack, last, next) : next; // most maps make no closure
}

function byCommands(
  { side, line, blocks = false }: HeldSide,
  takesBack: boolean,
  last: LastCall | undefined,
  next: GiveBack | undefined,
): GiveBack {
  let isBack = !takesBack;
  const step = (step: number) => {
    const call = isBack ? undefined : side.takeBack!(step);
    isBack = call === undefined;
    return call ?? (last?.isDue ? last : undefined);
  };
  return { line: line!, once: side.once ?? !takesBack, blocks, step, next };
}

export interface LastCall extends Call {
  isDue: boolean;
}

function lastOf(side: StepSide): LastCall | undefined {
  const call = side.end?.();
  if (call === undefined) return undefined;
  const last: LastCall = {
    ...call,
    isDue: true,
    call(lane) {
      const code = call.call(lane);
      if (code === 0) last.isDue = false;
      return code;
    },
  };
  return last;
}
