import type { DescEnum, DescEnumValue, DescField, DescMessage, DescMethod, DescService } from '@bufbuild/protobuf';
import type { DescriptorProto, EnumDescriptorProto, FileDescriptorProto } from '@bufbuild/protobuf/wkt';

/** A definition of the contract to which a comment can belong. */
export type Commented = DescMessage | DescField | DescEnum | DescEnumValue | DescService | DescMethod;

/** Returns the name of a definition, which is the same each time a contract is loaded. */
export function nameOf(definition: Commented): string {
  return 'typeName' in definition ? definition.typeName : `${definition.parent?.typeName}.${definition.name}`;
}

// Field numbers of descriptor.proto. Paths of source code locations consist of these numbers.
const FILE = { message: 4, enum: 5, service: 6 };
const MESSAGE = { field: 2, message: 3, enum: 4 };
const ENUM_VALUE = 2;
const METHOD = 2;

/**
 * Returns the comments above the definitions of all files, by the names of the definitions. The map is empty if the
 * descriptors contain no comments.
 */
export function readComments(files: readonly FileDescriptorProto[]): Map<string, string> {
  const comments = new Map<string, string>();
  for (const file of files) readFile(file, comments);
  return comments;
}

function readFile(file: FileDescriptorProto, comments: Map<string, string>): void {
  const texts = new Map<string, string>();
  for (const location of file.sourceCodeInfo?.location ?? []) {
    if (location.leadingComments !== '') texts.set(location.path.join(), tidy(location.leadingComments));
  }
  const note = (name: string, path: number[]) => {
    const text = texts.get(path.join());
    if (text !== undefined) comments.set(name, text);
  };
  const noteEnum = (type: EnumDescriptorProto, scope: string, path: number[]) => {
    const name = `${scope}.${type.name}`;
    note(name, path);
    type.value.forEach((value, i) => {
      note(`${name}.${value.name}`, [...path, ENUM_VALUE, i]);
    });
  };
  const noteMessage = (type: DescriptorProto, scope: string, path: number[]) => {
    const name = `${scope}.${type.name}`;
    note(name, path);
    type.field.forEach((field, i) => {
      note(`${name}.${field.name}`, [...path, MESSAGE.field, i]);
    });
    type.nestedType.forEach((nested, i) => {
      noteMessage(nested, name, [...path, MESSAGE.message, i]);
    });
    type.enumType.forEach((nested, i) => {
      noteEnum(nested, name, [...path, MESSAGE.enum, i]);
    });
  };
  file.messageType.forEach((type, i) => {
    noteMessage(type, file.package, [FILE.message, i]);
  });
  file.enumType.forEach((type, i) => {
    noteEnum(type, file.package, [FILE.enum, i]);
  });
  file.service.forEach((service, i) => {
    const name = `${file.package}.${service.name}`;
    note(name, [FILE.service, i]);
    service.method.forEach((method, k) => {
      note(`${name}.${method.name}`, [FILE.service, i, METHOD, k]);
    });
  });
}

/** Joins the lines of each paragraph; an empty line separates paragraphs. */
function tidy(comment: string): string {
  return comment
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.trim().replace(/\s*\n\s*/g, ' '))
    .filter((paragraph) => paragraph !== '')
    .join('\n');
}
