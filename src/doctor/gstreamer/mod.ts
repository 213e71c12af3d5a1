import { GStreamerContext } from "../../gstreamer/context.ts";
import type { ApiExaminer } from "../api.ts";
import { oneDevice } from "../one_device.ts";
import type { Trait } from "../report.ts";
import { PLUGINS, pluginVersion } from "./plugins.ts";

export const GSTREAMER: ApiExaminer = oneDevice({
  api: "gstreamer",
  variables: ["", "_GLIB", "_GOBJECT", "_APP", "_VIDEO", "_AUDIO", "_ALLOCATORS", "_GL", "_VA"].map((part) =>
    `SAMEPAGE_LIB_GSTREAMER${part}`
  ),
  symbol: "gst_version",
  open: () => GStreamerContext.openSync(),
  version: ({ name }) => name,
  traits: () => [{ label: "buffers", text: "in the host's memory, in place" }, ...pluginTraits()],
});

/** Which of the plugins that matter are installed, and what is closed without the others. */
function pluginTraits(): readonly Trait[] {
  const found = PLUGINS.map((plugin) => ({ ...plugin, version: pluginVersion(plugin.name) }));
  const there = found.filter(({ version }) => version !== undefined);
  const missing = found.filter(({ version }) => version === undefined);
  return [
    { label: "plugins", text: there.map(({ name, version }) => `${name} ${version}`).join(", ") || "none" },
    { label: "dma-bufs", text: "frames of dmabuf: GStreamerContext.open({ on: dmabuf })" },
    ...there.flatMap(({ gives, becomes }) => becomes === undefined ? [] : [{ label: gives, text: becomes }]),
    ...there.flatMap(({ gives, closed }) =>
      closed === undefined ? [] : [{ label: "closed", text: `${gives}: ${closed}` }]
    ),
    ...missing.map(({ name, gives, inDebian }) => ({
      label: "closed",
      text: `${gives}: there is no plugin ${name} (apt install ${inDebian})`,
    })),
  ];
}
