"""Proxies of group membership: trees and regressions whose leaves a filter goes by."""
