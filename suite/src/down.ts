import { dataFolderOf } from "./data-folder.ts";
import { down } from "./distributed.ts";

await down(dataFolderOf(process.env, "distributed"), (line) => console.log(line));
