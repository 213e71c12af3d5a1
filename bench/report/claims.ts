import { type Claim, CLAIMS, type ClaimVerdict, judgeClaim } from "../../src/advisor/mod.ts";
import type { FigureResult } from "../harness/result.ts";
import { time } from "./format.ts";

/** A claim of the advisor's, and what was measured of it, in nanoseconds. */
export interface MeasuredClaim {
  /** Its id, and its rule's. */
  readonly id: string;
  readonly row: string;
  /** What it says. */
  readonly statement: string;
  readonly expected: Claim["expected"];
  readonly mapped: number;
  readonly copied: number;
  /** How many times as long the copies took, as the median of what was compared round by round. */
  readonly ratio: number;
  readonly verdict: ClaimVerdict["verdict"];
}

/** In words: what became of a claim. */
const VERDICTS: Readonly<Record<ClaimVerdict["verdict"], string>> = {
  holds: "claim holds",
  differs: "claim does not hold here",
  even: "no difference here",
};

/** The claims of which both ways were measured. */
export function claimsOf(figures: readonly FigureResult[]): MeasuredClaim[] {
  return CLAIMS.flatMap((claim) => {
    const { ways = [] } = figures.find(({ id }) => id === `cuda-claim-${claim.id}`) ?? {};
    if (ways.length < 2) return [];
    const [copied, mapped] = ways.map((way) => way.time.median);
    const times = { mapped: ways[1].against!.ratio.median, copied: 1 };
    const { id, row, statement, expected } = claim;
    return [{ id, row, statement, expected, mapped, copied, ...judgeClaim(claim, times) }];
  });
}

/** A claim for a row. */
export function claimCells({ id, row, statement, mapped, copied, ratio, verdict }: MeasuredClaim): string[] {
  return [id, row, statement, time(mapped), time(copied), `${ratio.toFixed(2)} ×`, VERDICTS[verdict]];
}
