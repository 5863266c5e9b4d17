import { Counter as PromCounter, Gauge as PromGauge, Histogram as PromHistogram, Registry } from "prom-client";
import { processRegistry } from "./process-registry.ts";

/** The labels of one series; values come from small closed sets, never from tenants or ids. */
export type Labels = Readonly<Record<string, string>>;

/** What a metric is called: `drover_<what>_<unit>`, `_total` at the end of a counter. */
interface MetricSpec {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

/** A number that only grows. */
export interface Counter {
  inc(labels?: Labels, by?: number): void;
}

/** A number that goes up and down. */
export interface Gauge {
  set(value: number, labels?: Labels): void;
  add(by: number, labels?: Labels): void;
}

/** A distribution; durations are in seconds. `bind` gives the observer of one series, for hot paths. */
export interface Histogram {
  observe(value: number, labels?: Labels): void;
  bind(labels: Labels): (value: number) => void;
}

/** The metrics of one service. Asking for a name again gives the metric that is there. */
export interface Metrics {
  counter(spec: MetricSpec): Counter;
  /** `read`, when given, is asked for the value at every scrape (for metrics without labels). */
  gauge(spec: MetricSpec & { readonly read?: () => number }): Gauge;
  histogram(spec: MetricSpec & { readonly buckets?: readonly number[] }): Histogram;
  /** Everything in the Prometheus text format, with the process's own metrics. */
  render(): Promise<string>;
}

/** Buckets of a duration in seconds, 1 ms to 30 s. */
const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The metrics of `service`; each series carries it as the label `service`. */
export function createMetrics(service: string): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  const common = (spec: MetricSpec) => ({
    name: spec.name,
    help: spec.help,
    labelNames: [...(spec.labels ?? [])],
    registers: [registry],
  });
  return {
    counter(spec) {
      const counter = existing(registry, spec.name, PromCounter) ?? new PromCounter(common(spec));
      return { inc: (labels = {}, by = 1) => counter.inc({ ...labels }, by) };
    },
    gauge(spec) {
      const gauge = existing(registry, spec.name, PromGauge) ?? new PromGauge(withRead(common(spec), spec.read));
      return {
        set: (value, labels = {}) => gauge.set({ ...labels }, value),
        add: (by, labels = {}) => gauge.inc({ ...labels }, by),
      };
    },
    histogram(spec) {
      const buckets = [...(spec.buckets ?? durationBuckets)];
      const histogram = existing(registry, spec.name, PromHistogram) ?? new PromHistogram({ ...common(spec), buckets });
      return {
        observe: (value, labels = {}) => histogram.observe({ ...labels }, value),
        bind: (labels) => {
          const bound = histogram.labels({ ...labels });
          return (value) => bound.observe(value);
        },
      };
    },
    async render() {
      const texts = await Promise.all([registry.metrics(), processRegistry().metrics()]);
      return texts.join("\n");
    },
  };
}

function existing<M extends object>(
  registry: Registry,
  name: string,
  kind: new (...args: never[]) => M,
): M | undefined {
  const metric = registry.getSingleMetric(name);
  if (metric === undefined) return undefined;
  if (metric instanceof kind) return metric;
  throw new TypeError(`The metric ${name} exists with another type.`);
}

function withRead<C extends object>(common: C, read: (() => number) | undefined) {
  if (read === undefined) return common;
  return {
    ...common,
    collect(this: PromGauge) {
      this.set(read());
    },
  };
}
