import { expect, test } from "vitest";
import { addressPolicy } from "./address-policy.ts";

const refused = { code: "PERMISSION_DENIED", reason: "EGRESS_REFUSED" };
const check = (url: string, rules = {}) => {
  try {
    addressPolicy(rules).checkUrl(new URL(url));
    return "allowed";
  } catch (error) {
    return error;
  }
};

test.each([
  "http://127.0.0.1/",
  "http://2130706433/",
  "http://0177.0.0.1/",
  "http://0x7f.1/",
  "http://127.1/",
  "http://0.0.0.0/",
  "http://[::1]/",
  "http://[::]/",
  "http://[::ffff:7f00:1]/",
  "http://[::ffff:10.0.0.1]/",
  "http://[::7f00:1]/",
  "http://[64:ff9b::7f00:1]/",
  "http://[2002:7f00:1::]/",
  "http://[fe80::1]/",
  "http://[fec0::1]/",
  "http://[fd00::1]/",
  "http://[ff02::1]/",
  "http://169.254.169.254/latest/meta-data",
  "http://10.1.2.3/",
  "http://172.16.0.1/",
  "http://192.168.1.1/",
  "http://100.64.0.1/",
  "http://192.0.0.1/",
  "http://198.18.0.1/",
  "http://224.0.0.1/",
  "http://240.0.0.1/",
  "http://255.255.255.255/",
  "http://１２７.0.0.1/",
])("refuses %s", (url) => {
  expect(check(url)).toMatchObject(refused);
});

test.each(["http://93.184.215.14/", "https://[2606:4700::1111]/", "https://api.example.com/v1"])("allows %s", (url) => {
  expect(check(url)).toBe("allowed");
});

test.each(["ftp://example.com/", "file:///etc/passwd", "https://user@example.com/", "https://:pw@example.com/"])(
  "%s is not a valid target",
  (url) => {
    expect(check(url)).toMatchObject({ code: "INVALID_ARGUMENT", violations: [{ field: "url" }] });
  },
);

test("allow lists are exact: a block, an address, a host, a suffix", () => {
  expect(check("http://10.1.2.3/", { allowPrivate: ["10.1.0.0/16"] })).toBe("allowed");
  expect(check("http://10.2.2.3/", { allowPrivate: ["10.1.0.0/16"] })).toMatchObject(refused);
  expect(check("http://[::1]/", { allowPrivate: ["::1"] })).toBe("allowed");
  expect(check("http://[::ffff:127.0.0.1]/", { allowPrivate: ["127.0.0.0/8"] })).toBe("allowed");
  expect(check("https://a.example.com/", { allowHosts: ["*.example.com"] })).toBe("allowed");
  expect(check("https://example.com./", { allowHosts: ["example.com"] })).toBe("allowed");
  expect(check("https://badexample.com/", { allowHosts: ["*.example.com"] })).toMatchObject(refused);
  const policy = addressPolicy({ allowPrivate: ["localhost"] });
  expect(() => policy.checkAddress("localhost", "127.0.0.1")).not.toThrow();
  expect(() => policy.checkAddress("other", "127.0.0.1")).toThrow(expect.objectContaining(refused));
});

test.each([{ allowPrivate: ["10.0.0.0/99"] }, { allowHosts: ["a b"] }, { allowHosts: [""] }])(
  "refuses the rule %j",
  (rules) => {
    expect(() => addressPolicy(rules)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  },
);
