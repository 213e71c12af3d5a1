import { object, shown } from "../argument.ts";
import { ArgumentError } from "../errors.ts";
import { whole } from "./layout.ts";

/** What an API or a vendor wants of an address and a length. */
export interface AlignmentRule {
  /** Whose rule it is. */
  readonly name: string;
  /** The address has to be a multiple of this many bytes. */
  readonly address: number;
  /** The length has to be a multiple of this many bytes. */
  readonly length: number;
  /** True where breaking it costs speed, not correctness. */
  readonly advice: boolean;
  /** Where the rule comes from: a document, or a proof that was run. */
  readonly source: string;
}

/** What a tensor lacks of a rule; empty where it obeys. */
export interface AlignmentReport {
  /** True where the rule is obeyed. */
  readonly ok: boolean;
  /** What is wrong, one sentence each. */
  readonly problems: readonly string[];
  /** What to do about it; undefined where nothing is wrong. */
  readonly remedy: string | undefined;
}

/**
 * The rules that vendors publish, as advice: what a device really does is found out by a proof of aliasing.
 */
export const VENDOR_RULES: { readonly [name: string]: AlignmentRule } = {
  intel: {
    name: "intel",
    address: 4096,
    length: 64,
    advice: true,
    source:
      "Intel, Getting the Most from OpenCL 1.2: How to Increase Performance by Minimizing Buffer Copies on Intel " +
      "Processor Graphics: CL_MEM_USE_HOST_PTR at a 4096-byte address, with a length that is a multiple of 64 bytes",
  },
};

/** Holds an address and a length against a rule. */
export function checkAlignment(address: bigint, byteLength: number, rule: AlignmentRule): AlignmentReport {
  if (typeof address !== "bigint") {
    throw new ArgumentError(`address: ${shown(address)} is no bigint.`, { api: "core", argument: "address" });
  }
  whole(byteLength, "byteLength", 0);
  const multiple = whole(object(rule, "rule").address, "rule.address", 1);
  const lengthMultiple = whole(rule.length, "rule.length", 1);
  const problems: string[] = [];
  const off = Number(address % BigInt(multiple));
  if (off !== 0) {
    problems.push(`the address 0x${address.toString(16)} is ${off} bytes past a multiple of ${multiple}.`);
  }
  if (byteLength % lengthMultiple !== 0) {
    problems.push(`the length ${byteLength} is not a multiple of ${lengthMultiple}.`);
  }
  const remedy = `Allocate it with host.allocate({ align: ${multiple} }), which rounds the length up to 64 bytes.`;
  return { ok: problems.length === 0, problems, remedy: problems.length === 0 ? undefined : remedy };
}
