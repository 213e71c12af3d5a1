import { kernel } from "../../dmabuf/library.ts";
import { dmabuf } from "../../dmabuf/mod.ts";
import { type ApiExaminer, type Examined, LITTLE } from "../api.ts";
import { examineLibrary } from "../library.ts";
import type { Finding, Trait } from "../report.ts";

/** Memory that devices and processes share: which allocators are open, and what the others need. */
export const DMABUF: ApiExaminer = {
  api: "dmabuf",
  variables: ["SAMEPAGE_LIB_DMABUF"],
  files: ["/dev", "/dev/dma_heap", "/dev/dri"],

  examine(): Examined {
    const findings: Finding[] = [];
    const id = "dmabuf";
    const library = examineLibrary("dmabuf", kernel, "ioctl", findings);
    if (library.opened === undefined) {
      return { report: { api: id, library, modules: [], drivers: [], devices: [], findings }, nodes: [] };
    }
    const allocators = dmabuf.allocators();
    const traits = allocators.map(({ node, kind, open, reason }): Trait => (
      { label: kind, text: open ? `${node} open` : reason!.replace(/\.$/, "") }
    ));
    const isOpen = allocators.some(({ open }) => open);
    // One open allocator is enough. A node that lacks only a permission is reported all the same.
    const closed = allocators.filter(({ open, reason }) => !open && (!isOpen || reason!.includes("opened")));
    for (const { reason, remedy } of isOpen ? closed : closed.slice(0, 1)) {
      findings.push({ what: `dma-bufs: ${reason}`, remedy: remedy! });
    }
    return {
      report: {
        api: id,
        library,
        modules: [],
        drivers: [],
        devices: [{ id, name: "buffers of the kernel's", facts: [], traits, aliasing: [], findings }],
        findings: [],
      },
      nodes: [{ device: id, target: dmabuf, make: isOpen ? () => dmabuf.allocate(LITTLE) : undefined }],
    };
  },
};
