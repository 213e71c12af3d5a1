import { libc } from "../../core/native/libc.ts";
import { toDLPack } from "../../dlpack/mod.ts";
import { host } from "../../host/context.ts";
import { PAGE } from "../../core/native/blocks.ts";
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
    traits.push({ label: "DLPack", text: lendable() });
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

/** Consumers' deleters are a function of the C library: not every one has it as it has to be. */
function lendable(): string {
  const findings: Finding[] = [];
  attempt(findings, () => {
    using tensor = host.allocate(LITTLE);
    toDLPack(tensor)[Symbol.dispose]();
  });
  return findings.length === 0 ? "lends and takes kDLCPU, of versions 0 and 1" : `takes kDLCPU: ${findings[0].what}`;
}

/** Other processes and APIs can take a memfd; a sandbox may forbid it. */
function sharingProblem(): string | undefined {
  const findings: Finding[] = [];
  attempt(findings, () => host.allocate({ ...LITTLE, sharable: true })[Symbol.dispose]());
  return findings[0]?.what;
}
