import { object, unexpected } from "../argument.ts";
import { whole } from "./layout.ts";

/** What an API or a vendor requires of an address and a length. */
export interface AlignmentRule {
  /** Whose rule it is. */
  readonly name: string;
  /** The address has to be a multiple of this many bytes. */
  readonly address: number;
  /** The length has to be a multiple of this many bytes. */
  readonly length: number;
  /** True if breaking the rule costs speed and not correctness. */
  readonly advice: boolean;
  /** Where the rule comes from: a document, or a proof that was run. */
  readonly source: string;
}

/** How a tensor breaks a rule, if it does. */
export interface AlignmentReport {
  /** True if the tensor obeys the rule. */
  readonly ok: boolean;
  /** One sentence for each way it breaks the rule. */
  readonly problems: readonly string[];
  /** What to do; undefined if nothing is wrong. */
  readonly remedy: string | undefined;
}

/** Rules that vendors publish, as advice. What a device really does is shown by a proof of aliasing. */
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

/** Checks an address and a length, in bytes, against a rule. */
export function checkAlignment(address: bigint, byteLength: number, rule: AlignmentRule): AlignmentReport {
  if (typeof address !== "bigint") throw unexpected("address", "a bigint", address);
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
