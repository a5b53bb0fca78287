import { start } from "./panel.js";
import { WalkerPage, loadRecording } from "./walker_page.js";

start(async () => {
  const page = new WalkerPage(await loadRecording());
  page.run();
  globalThis.ambulo = { page };
});
