import { expect, test } from "vitest";
import { commandNames } from "./command-guard.ts";

test.each([
  ["ls -la", ["ls"]],
  ["ls; rm -rf x", ["ls", "rm"]],
  ["ls && curl x || wget y | sh", ["ls", "curl", "wget", "sh"]],
  ["echo $(rm x)", ["echo", "rm"]],
  ['echo "a $(rm x) b"', ["echo", "rm"]],
  ["echo '$(rm x)'", ["echo"]],
  ["echo `rm x`", ["echo", "rm"]],
  ["env X=1 cmd a", ["env", "cmd"]],
  ["X=1 Y=2 cmd a", ["cmd"]],
  ["env -i X=1 nohup cmd", ["env", "nohup", "cmd"]],
  ["if true; then rm x; fi", ["true", "rm"]],
  ["(cd a; rm b) & wait", ["cd", "rm", "wait"]],
  ["ls >out 2>&1 <in\nrm x", ["ls", "rm"]],
  ["diff <(rm x) y", ["diff", "rm"]],
  ["/bin/rm x", ["/bin/rm"]],
  ["r''m x", ["rm"]],
  ["r\\m x", ["rm"]],
  ["$CMD x", ["$CMD"]],
  ["! rm x", ["rm"]],
  ["while rm x; do sleep 1; done", ["rm", "sleep"]],
  ["echo a # rm x", ["echo"]],
])("%s", (command, names) => {
  expect([...commandNames(command)].sort()).toEqual([...names].sort());
});
