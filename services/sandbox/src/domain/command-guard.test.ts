import fc from "fast-check";
import { expect, test } from "vitest";
import { allowedCommands, commandNames } from "./command-guard.ts";

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
  ["cat <<END\nrm x\nEND\nls", ["cat", "ls"]],
  ["cat <<END\na $(rm x) `du` 'b' it's\nEND\nls", ["cat", "rm", "du", "ls"]],
  ["cat <<'END'\n$(rm x)\nEND\nls", ["cat", "ls"]],
  ["cat <<-END; ls\n\trm x\n\tEND\nwc", ["cat", "ls", "wc"]],
  ["cat <<A <<B | sort\nrm\nA\ndu\nB\nls", ["cat", "sort", "ls"]],
  ["cat <<<rm; ls", ["cat", "ls"]],
  ["f() { rm x; }; f", ["rm"]],
  ["function f { rm x; }\nf a", ["rm"]],
  ["main() { helper; }; helper() { ls; }; main", ["ls"]],
  ["rm x; rm() { ls; }", ["rm", "ls"]],
  ['echo "$( (cd a); rm x )"', ["echo", "cd", "rm"]],
  ["((i = rm)); ls $((a + b)) $((1 + $(rm x)))", ["ls", "rm"]],
  ["( (cd a); rm b )", ["cd", "rm"]],
  ["((cd a); rm b)", ["cd", "rm"]],
  ["for f in rm du; do ls $f; done", ["ls"]],
  ["for ((i=0; i<3; i++)); do ls; done", ["ls"]],
  ["case $1 in a|b) rm x;; (c) du ;& *) ls; esac; wc", ["rm", "du", "ls", "wc"]],
  ["echo $(case x in a) rm;; esac) | sort", ["echo", "rm", "sort"]],
  ["[[ rm == a && -f x ]] && ls", ["ls"]],
  ["[ rm = a ] && ls", ["[", "ls"]],
  ["a=(rm du) b=$(wc x) ls", ["wc", "ls"]],
  [`ls ${"$"}{x:-$(rm y)} ${"$"}{z:-a b}`, ["ls", "rm"]],
  ["command rm x", ["command", "rm"]],
  ["command -v rm && ls", ["command", "ls"]],
  ["exec -a name rm x", ["exec", "rm"]],
  ["exec >log; ls", ["exec", "ls"]],
  ["ls | xargs -n 1 -I {} rm {}", ["ls", "xargs", "rm"]],
  ["ls | xargs", ["ls", "xargs"]],
  ["env -u NAME X=1 /usr/bin/timeout -s KILL 5s rm x", ["env", "/usr/bin/timeout", "rm"]],
  ["find . -name x -exec rm {} \\; -print; ls", ["find", "rm", "ls"]],
  ["eval 'rm x;' du y", ["eval", "rm", "du"]],
  ["ls &>out x; rm |& tee y", ["ls", "rm", "tee"]],
  ["2>err ls 10", ["ls"]],
  ["echo $'rm\n' \"a 'b' $(du)\"", ["echo", "du"]],
  ["ls \\\n  rm", ["ls"]],
  ["", []],
])("%s", (command, names) => {
  expect([...commandNames(command)].sort()).toEqual([...names].sort());
});

test("what is allowed is in the configuration and in the request, where both name commands", () => {
  const names = (configured: string[], asked: string[]) => {
    const allowed = allowedCommands(new Set(configured), asked);
    return allowed && [...allowed];
  };
  expect(names([], [])).toBeUndefined();
  expect(names(["ls"], [])).toEqual(["ls"]);
  expect(names([], ["ls"])).toEqual(["ls"]);
  expect(names(["ls", "cat"], ["cat", "rm"])).toEqual(["cat"]);
  expect(names(["ls"], ["rm"])).toEqual([]);
});

test("any text has an end", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(..."ab;&|()<>{}$`'\"\\\n -=#[]", "<<", "$((", "case ", " in ", "esac ", "eval "), {
        maxLength: 60,
      }),
      (parts) => {
        expect(commandNames(parts.join(""))).toBeInstanceOf(Set);
      },
    ),
  );
});
