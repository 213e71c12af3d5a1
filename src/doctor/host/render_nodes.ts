import type { Finding } from "../report.ts";

export const RENDER_NODES = "/dev/dri";

/** The GPUs' device files, open or closed to this user; undefined if Deno may not read them (without --allow-all). */
export function examineRenderNodes(findings: Finding[], folder: string = RENDER_NODES): string | undefined {
  const nodes = renderNodes(folder);
  if (nodes === undefined) return undefined;
  if (nodes.length === 0) return `no ${folder}/renderD*: no GPU, or none that its driver shows`;
  const closed = nodes.filter((node) => !opens(node));
  if (closed.length > 0) {
    findings.push({
      what: `${closed.join(", ")} cannot be opened by this user.`,
      remedy: "Join the group that owns it: usermod -aG render $USER, then log in again.",
    });
  }
  return nodes.map((node) => `${node} ${closed.includes(node) ? "closed" : "open"}`).join(", ");
}

function renderNodes(folder: string): string[] | undefined {
  try {
    const entries = [...Deno.readDirSync(folder)].filter(({ name }) => name.startsWith("renderD"));
    return entries.map(({ name }) => `${folder}/${name}`).sort();
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? [] : undefined;
  }
}

function opens(node: string): boolean {
  try {
    Deno.openSync(node, { read: true, write: true }).close();
    return true;
  } catch {
    return false;
  }
}
