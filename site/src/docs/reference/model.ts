import type { Schema } from '@commonplace/platform/api-document';

/** The parts of an OpenAPI document that the reference shows. */
export interface ApiDocument {
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, ApiParameter>>;
    readonly responses: Readonly<Record<string, { readonly 'x-codes'?: readonly string[] }>>;
  };
}

interface ApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly ApiParameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, ApiResponse>>;
  /** Credentials that the operation accepts; empty if it accepts none. */
  readonly security?: readonly object[];
  readonly 'x-errors'?: readonly string[];
  readonly 'x-preview'?: boolean;
  readonly 'x-codeSamples'?: readonly { readonly label: string; readonly source: string }[];
}

interface ApiResponse {
  readonly $ref?: string;
  readonly description?: string;
  readonly content?: Content;
}

export interface ApiParameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
  readonly content?: Content;
}

type Content = Readonly<Record<string, { readonly schema: Schema; readonly example?: unknown }>>;

export interface Operation extends ApiOperation {
  readonly method: string;
  readonly path: string;
}

/** The operations of one subject. */
export interface Chapter {
  readonly name: string;
  /** Last segment of the page's path: `access-request`. */
  readonly slug: string;
  readonly description: string;
  readonly operations: readonly Operation[];
}

/** Returns the chapters of the reference in alphabetical order, one for each tag. */
export function chaptersOf(document: ApiDocument): Chapter[] {
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
  return document.tags
    .map(({ name, description = '' }) => ({
      name,
      slug: name.toLowerCase().replaceAll(' ', '-'),
      description,
      operations: operations.filter(({ tags }) => tags.includes(name)),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns the parameters of an operation. References to shared parameters are resolved. */
export function parametersOf({ components }: ApiDocument, { parameters = [] }: Operation): ApiParameter[] {
  return parameters.map((one) => components.parameters[one.$ref?.split('/').at(-1) ?? ''] ?? one);
}
