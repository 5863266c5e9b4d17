import { dataFolderOf } from "./data-folder.ts";
import { down } from "./distributed.ts";
import { runCommand } from "./run-command.ts";

await runCommand(() => down(dataFolderOf(process.env, "distributed"), (line) => console.log(line)));
