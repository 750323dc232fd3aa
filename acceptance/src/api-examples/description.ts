import type { System } from '../system.js';

/** One operation of the OpenAPI document. */
export interface DescribedOperation {
  readonly operationId: string;
  readonly method: string;
  /** Path such as `/api/v1/resources/{resource_id}`. */
  readonly path: string;
  /** Example of the JSON body; undefined if there is none. */
  readonly example: unknown;
}

interface Description {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly operationId: string;
            readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
          }
        >
      >
    >
  >;
}

/** Reads the operations from the OpenAPI document that a system serves. */
export async function readOperations({ baseUrl }: Pick<System, 'baseUrl'>): Promise<DescribedOperation[]> {
  const { paths } = (await (await fetch(`${baseUrl}/api/v1/openapi.json`)).json()) as Description;
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { operationId, requestBody }]) => ({
      operationId,
      method: method.toUpperCase(),
      path,
      example: requestBody?.content['application/json']?.example,
    })),
  );
}
