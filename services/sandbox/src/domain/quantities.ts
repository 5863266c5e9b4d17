const units = [
  [1024 ** 3, "GiB"],
  [1024 ** 2, "MiB"],
  [1024, "KiB"],
] as const;

/** A number of bytes as people read it and never rounded: `512 MiB`, `1.5 GiB`, `40 bytes`, `1048577 bytes`. */
export function byteSize(bytes: number): string {
  const unit = units.find(([size]) => bytes >= size && (bytes * 2) % size === 0);
  return unit === undefined ? counted(bytes, "byte") : `${bytes / unit[0]} ${unit[1]}`;
}

/** A number of things: `1 run`, `2 runs`. */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}
