import { create, createFileRegistry, type DescService } from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";

/**
 * `grpc.health.v1.Health` (https://github.com/grpc/grpc/blob/master/doc/health-checking.md). Its official package
 * is bound to a grpc-js server, which the edge is not, so its few messages are described here.
 */
const file = create(FileDescriptorProtoSchema, {
  name: "grpc/health/v1/health.proto",
  package: "grpc.health.v1",
  syntax: "proto3",
  messageType: [
    {
      name: "HealthCheckRequest",
      field: [{ name: "service", jsonName: "service", number: 1, type: Type.STRING, label: Label.OPTIONAL }],
    },
    {
      name: "HealthCheckResponse",
      field: [
        {
          name: "status",
          jsonName: "status",
          number: 1,
          type: Type.ENUM,
          typeName: ".grpc.health.v1.HealthCheckResponse.ServingStatus",
          label: Label.OPTIONAL,
        },
      ],
      enumType: [
        {
          name: "ServingStatus",
          value: [
            { name: "UNKNOWN", number: 0 },
            { name: "SERVING", number: 1 },
            { name: "NOT_SERVING", number: 2 },
            { name: "SERVICE_UNKNOWN", number: 3 },
          ],
        },
      ],
    },
  ],
  service: [
    {
      name: "Health",
      method: [method("Check", false), method("Watch", true)],
    },
  ],
});

/** Values of `HealthCheckResponse.ServingStatus`. */
export const servingStatus = { serving: 1, notServing: 2, serviceUnknown: 3 } as const;
export type ServingStatus = (typeof servingStatus)[keyof typeof servingStatus];

/** The descriptor of the health service. */
export const healthService: DescService = describedService();

function method(name: string, serverStreaming: boolean) {
  const inputType = ".grpc.health.v1.HealthCheckRequest";
  return { name, inputType, outputType: ".grpc.health.v1.HealthCheckResponse", serverStreaming };
}

function describedService(): DescService {
  const service = createFileRegistry(file, () => undefined).getService("grpc.health.v1.Health");
  if (service === undefined) throw new TypeError("The health service is not described.");
  return service;
}
