import type { Lines } from "../contract.ts";

/** A lane that is an object with these methods: see {@link Lines}. */
export interface Lane {
  /** Releases it. */
  close(): void;
  /** The driver accepted a call. */
  submitted(mark: number, fn: string): void;
  /** The driver refused one. */
  refused?(): void;
  /** The newest mark known to be over. */
  poll(mark: number): number;
  /** Blocks until a mark is over. */
  block(mark: number): void;
  /** Ends at about the time a mark is over. */
  waitElsewhere(mark: number): Promise<void>;
}

/** One whose commands can wait on the device for those of another lane of its driver. */
export interface WaitingLane<L> extends Lane {
  /** The next command waits for a mark of another lane. False, the host waits. */
  waitFor(of: L, mark: number): boolean;
}

/** The lines of lanes that are objects. */
export const LANES: Lines<Lane> = {
  close: (lane) => lane.close(),
  submitted: (lane, mark, fn) => lane.submitted(mark, fn),
  refused: (lane) => lane.refused?.(),
  poll: (lane, mark) => lane.poll(mark),
  block: (lane, mark) => lane.block(mark),
  waitElsewhere: (lane, mark) => lane.waitElsewhere(mark),
};

/** The lines of lanes that wait for each other. */
export function waitingLines<L extends WaitingLane<L>>(): Lines<L> {
  return { ...LANES as Lines<unknown> as Lines<L>, waitOnDevice: (lane, of, mark) => lane.waitFor(of, mark) };
}
