/** How often the waits are asked about, in milliseconds, and how often before each goes on alone. */
const EVERY_MS = 1;
const TIMES = 20;

interface Fence {
  readonly line: Line;
  readonly mark: number;
  wait(): Promise<void>;
}

interface Line {
  isOver(mark: number): boolean;
  wasOver(mark: number): boolean;
  raise(mark: number): void;
  gatesAt(mark: number): unknown;
}

/** A wait without hurry. */
interface Waiting {
  readonly mark: number;
  readonly done: () => void;
  left: number;
}

/** By line, in the order in which they came. */
const waiting = new Map<Line, Waiting[]>();
let timer: ReturnType<typeof setTimeout> | undefined;

/**
 * Waits for a fence without hurry: it neither polls before it returns nor takes a thread, and all such waits share one
 * timer. Work that takes long is waited for by {@link Fence.wait} after a while.
 * @throws the work's error.
 */
export async function waitPatiently(fence: Fence): Promise<void> {
  const { line, mark } = fence;
  if (line.wasOver(mark)) return line.raise(mark);
  if (line.gatesAt(mark) === undefined) {
    await new Promise<void>((done) => {
      const beside = waiting.get(line);
      if (beside === undefined) waiting.set(line, [{ mark, done, left: TIMES }]);
      else beside.push({ mark, done, left: TIMES });
      timer ??= setTimeout(ask, EVERY_MS);
    });
  }
  if (line.wasOver(mark)) return line.raise(mark);
  await fence.wait();
}

function ask(): void {
  timer = undefined;
  for (const [line, waits] of waiting) {
    let goesOn = true;
    const left = waits.filter((one) => {
      goesOn &&= isOver(line, one.mark);
      if (!goesOn && !line.wasOver(one.mark) && --one.left > 0) return true;
      one.done();
      return false;
    });
    if (left.length === 0) waiting.delete(line);
    else waiting.set(line, left);
  }
  if (waiting.size > 0) timer = setTimeout(ask, EVERY_MS);
}

function isOver(line: Line, mark: number): boolean {
  try {
    return line.isOver(mark);
  } catch {
    return false; // the wait that goes on alone meets the same error, and reports it
  }
}
