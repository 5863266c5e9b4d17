import { dataFolderOf } from "./data-folder.ts";
import { up } from "./distributed.ts";
import { runCommand } from "./run-command.ts";

await runCommand(async () => {
  const { url, keyFile } = await up(dataFolderOf(process.env, "distributed"), process.env, (line) => console.log(line));
  console.log(`gateway      ${url}, API key in ${keyFile}`);
});
