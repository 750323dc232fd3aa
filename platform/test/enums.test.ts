import { ImportSourceType } from '@commonplace/proto/files/v1/import.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { describe, expect, test } from '@jest/globals';
import { enumName, namesByValue, valuesByName } from '../src/enums/index.js';
import { isOrgRoleAtLeast, isWorkspaceRoleAtLeast } from '../src/memberships/index.js';

test('the name of an enum value has no prefix and is in lower case', () => {
  const name: 'document' = enumName(ResourceType.DOCUMENT, 'RESOURCE_TYPE');
  expect(name).toBe('document');
  expect(enumName(ImportSourceType.MARKDOWN_ZIP, 'IMPORT_SOURCE_TYPE')).toBe('markdown_zip');
});

test('the values of an enum are known by the names that records store, and the other way round', () => {
  const role: WorkspaceRole.EDITOR = valuesByName(WorkspaceRole).editor;
  expect(role).toBe(WorkspaceRole.EDITOR);
  expect(namesByValue(ImportSourceType)[ImportSourceType.MARKDOWN_ZIP]).toBe('markdown_zip');
  expect(Object.keys({ ...valuesByName(OrgRole), ...namesByValue(OrgRole) })).not.toContain('unspecified');
});

describe('workspace roles', () => {
  test('include the rights of weaker roles', () => {
    expect(isWorkspaceRoleAtLeast(WorkspaceRole.EDITOR, WorkspaceRole.EDITOR)).toBe(true);
    expect(isWorkspaceRoleAtLeast(WorkspaceRole.OWNER, WorkspaceRole.ADMIN)).toBe(true);
    expect(isWorkspaceRoleAtLeast(WorkspaceRole.GUEST, WorkspaceRole.VIEWER)).toBe(false);
    expect(isWorkspaceRoleAtLeast(undefined, WorkspaceRole.GUEST)).toBe(false);
  });
});

test('roles in an Org include the rights of weaker roles', () => {
  expect(isOrgRoleAtLeast(OrgRole.OWNER, OrgRole.ADMIN)).toBe(true);
  expect(isOrgRoleAtLeast(OrgRole.MEMBER, OrgRole.MEMBER)).toBe(true);
  expect(isOrgRoleAtLeast(OrgRole.GUEST, OrgRole.MEMBER)).toBe(false);
  expect(isOrgRoleAtLeast(undefined, OrgRole.GUEST)).toBe(false);
});
