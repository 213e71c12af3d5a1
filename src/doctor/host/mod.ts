import { libc } from "../../core/native/libc.ts";
import { toArrow } from "../../arrow/mod.ts";
import { toDLPack } from "../../dlpack/mod.ts";
import { host } from "../../host/context.ts";
import { PAGE } from "../../core/native/blocks.ts";
import type { HostTensor } from "../../host/mod.ts";
import { libcVersion } from "../../host/version.ts";
import { type ApiExaminer, type Examined, LITTLE } from "../api.ts";
import { attempt, type Finding, type Trait } from "../report.ts";
import { examineLibrary, factOf, factValue } from "../library.ts";
import { examineRenderNodes, RENDER_NODES } from "./render_nodes.ts";

export const HOST: ApiExaminer = {
  api: "host",
  variables: ["SAMEPAGE_LIB_LIBC"],
  files: [RENDER_NODES],

  examine(): Examined {
    const findings: Finding[] = [];
    const library = examineLibrary("libc", libc, "getpid", findings);
    const make = () => host.allocate({ ...LITTLE, sharable: sharingProblem() === undefined });
    const id = "host";
    if (library.opened === undefined) {
      return { report: { api: id, library, modules: [], drivers: [], devices: [], findings }, nodes: [] };
    }
    const facts = factOf("gnu_get_libc_version", libcVersion);
    const version = factValue(facts, "gnu_get_libc_version");
    const traits: Trait[] = [{ label: "memory", text: `pages of ${PAGE} bytes; ${sharable()}` }];
    traits.push({ label: "DLPack", text: lendable("kDLCPU, of versions 0 and 1", (tensor) => toDLPack(tensor)) });
    traits.push({ label: "Arrow", text: lendable("arrays of the CPU", (tensor) => toArrow(tensor)) });
    if ("gpu" in navigator) traits.push({ label: "WebGPU", text: WEBGPU });
    const nodes = examineRenderNodes(findings);
    if (nodes !== undefined) traits.push({ label: "GPU nodes", text: nodes });
    return {
      report: {
        api: id,
        library: { ...library, ...(version === undefined ? {} : { version: `glibc ${version}` }), facts },
        modules: [],
        drivers: [],
        devices: [{ id, name: "the CPU's memory", facts: [], traits, aliasing: [], findings: [] }],
        findings,
      },
      nodes: [{ device: id, target: host, make }],
    };
  },
};

function sharable(): string {
  const problem = sharingProblem();
  return problem === undefined ? "as a memfd too, for other processes and APIs" : `not as a memfd: ${problem}`;
}

/** Tests a loan, whose C functions for consumers not every C library and machine has. */
function lendable(what: string, lend: (tensor: HostTensor) => Disposable): string {
  const findings: Finding[] = [];
  attempt(findings, () => {
    using tensor = host.allocate(LITTLE);
    lend(tensor)[Symbol.dispose]();
  });
  return findings.length === 0 ? `lends and takes ${what}` : `takes ${what}: ${findings[0].what}`;
}

const WEBGPU = "not shared: a GPUBuffer has no handle; a mapped range is a copy, which host.wrap(pointer) sees";

/** Other processes and APIs can take a memfd; a sandbox may forbid it. */
function sharingProblem(): string | undefined {
  const findings: Finding[] = [];
  attempt(findings, () => host.allocate({ ...LITTLE, sharable: true })[Symbol.dispose]());
  return findings[0]?.what;
}
